"""Closed forms of metapipelines: what they say, where a simulation agrees to the cycle, and where it does not."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdu_model import Metapipeline, closed_forms, load_machine, simulate_metapipe
from rdu_model.closed_forms import PUBLISHED, Draining
from rdu_model.pipe import Metapipe
from tests.rdu.pipelines import FAST, PCUS, chain, skip_edge

# A stage of one cycle is faster than its tile comes and goes.
CYCLES = st.sampled_from(sorted(set(PCUS) - {1}))
TIMES = st.lists(CYCLES, min_size=1, max_size=7)


def cycles_of(metapipe: Metapipe) -> int:
    """Cycles on FAST without the first load and the last store, which take one each."""
    return simulate_metapipe(metapipe, FAST).total_cycles - 2


def test_the_case_of_unequal_stages() -> None:
    # Stages 5, 9, 4 and 16 steps: double buffers, single buffers, one step after the other; then 9 -> 5.
    stages = (5, 9, 4)
    assert closed_forms.metapipe(stages, 16) == cycles_of(chain(stages, 16)) == 153
    assert closed_forms.single_buffers(stages, 16) == cycles_of(chain(stages, 16, (1, 1, 1))) == 228
    # One slot from the first stage to the last: a step begins when the one before is through.
    assert closed_forms.sequential(stages, 16) == cycles_of(skip_edge(stages, 16, 0, 2, depth=1)) == 288
    assert closed_forms.metapipe((5, 5, 4), 16) == cycles_of(chain((5, 5, 4), 16)) == 89


def test_compute_and_memory_of_a_fused_section_overlap_across_operators() -> None:
    # Operator 1: 10,000 cycles of work, 2,000 bytes. Operator 2: 2,000 and 10,000. On unit a byte is a cycle, and both
    # share the memory: the greatest of 10,000, 2,000 and 2,000 + 10,000, plus fill, in tiles of a hundredth.
    steps = 100
    p = Metapipeline("two_operators")
    x, v = p.input_region("x", "t k", (steps, 20), "fp8"), p.weight_region("v", "k n", (20, 5), "fp8")
    w, y = p.weight_region("w", "t n j", (steps, 5, 20), "fp8"), p.output_region("y", "", (), "fp8")
    v_tile = p.load_tile(v, (20, 5))
    with p.metapipe(steps):
        one = p.mat_mul(p.load_tile(x, (1, 20)), v_tile, pcus=1, name="operator_1")
        two = p.mat_mul(one, p.load_tile(w, (1, 5, 20)), over="n", pcus=5, name="operator_2")
        total = p.reduce("sum", two, "t j", pcus=20)
    p.store_tile(y, total)
    timeline = simulate_metapipe(p.build(), load_machine("unit"))
    assert timeline.busy_cycles["pcu operator_1"] == 10_000
    assert timeline.busy_cycles["pcu operator_2"] == 2_000
    assert timeline.busy_cycles["hbm"] == 12_000 + 100 + 1  # v once, and the one byte of the result
    # Fill and drain: v, then of one tile 100 + 20 cycles of work and the last sum; far from 20,000 and 24,000.
    assert 12_101 <= timeline.total_cycles <= 12_101 + 100 + 20 + 21


@given(TIMES, st.integers(1, 60))
def test_double_buffers_take_the_sum_and_the_slowest_for_each_further_step(times: list[int], steps: int) -> None:
    assert cycles_of(chain(tuple(times), steps)) == closed_forms.metapipe(times, steps)


@given(TIMES, st.integers(1, 60))
def test_single_buffers_take_the_slowest_pair(times: list[int], steps: int) -> None:
    # The buffer to the store has two: the store is no stage of the form.
    depths = (*(1,) * (len(times) - 1), None)
    assert cycles_of(chain(tuple(times), steps, depths)) == closed_forms.single_buffers(times, steps)


@given(CYCLES, st.integers(2, 6), st.integers(1, 7), st.integers(1, 8))
def test_a_skip_edge_shares_its_slots(cycles: int, stages: int, depth: int, rounds: int) -> None:
    times, steps = (cycles,) * stages, depth * rounds
    simulated = cycles_of(skip_edge(times, steps, 0, stages - 1, depth))
    assert simulated == closed_forms.skip_edge(times, steps, 0, stages - 1, depth)
    if depth >= closed_forms.enough_slots(times, 0, stages - 1):
        assert simulated == closed_forms.metapipe(times, steps)


def nested(outer: int, inner: int, stages: tuple[int, ...], drain: bool) -> Metapipe:
    """A stage of 36 cycles, a pipe inside, and a stage of 18 on the whole of what it makes."""
    p = Metapipeline("nested")
    shape = (outer, inner, 36)
    x, y = p.input_region("x", "o i e", shape, "fp8"), p.output_region("y", "o e", (outer, 36), "fp8")
    with p.metapipe(outer, over="o"):
        with p.metapipe(inner, over="i", drain=drain):
            tile = p.load_tile(x, (1, 1, 36))
            for stage in stages:
                tile = p.map("neg", tile, pcus=PCUS[stage])
            total = p.reduce("sum", tile, "i", pcus=36)
        p.store_tile(y, p.map("neg", total, pcus=2))
    return p.build()


@pytest.mark.parametrize("stages", [(5, 9, 4), (4,), (36, 18)])
@pytest.mark.parametrize(("outer", "inner"), [(1, 1), (2, 3), (6, 7)])
def test_pipes_in_pipes_that_drain(outer: int, inner: int, stages: tuple[int, ...]) -> None:
    # The load and the sum take a cycle each, so does the store of the outer pipe.
    inside = Draining(inner, (1, *stages, 1))
    closed = closed_forms.draining(Draining(outer, (inside, 18, 1)))
    assert simulate_metapipe(nested(outer, inner, stages, drain=True), FAST).total_cycles == closed


def test_a_pipe_that_streams_on_is_faster_than_its_closed_form() -> None:
    # The inner pipe is not empty between steps of the outer one: 6 * 7 steps of 9 cycles, and one fill.
    closed = closed_forms.draining(Draining(6, (Draining(7, (1, 5, 9, 4, 1)), 18, 1)))
    streamed = simulate_metapipe(nested(6, 7, (5, 9, 4), drain=False), FAST).total_cycles
    assert (closed, streamed) == (6 * (20 + 6 * 9) + 19, 20 + 41 * 9 + 19)


def uneven(rows: int, depth: int | None) -> Metapipe:
    """Tiles of 3 rows and of 1, in turn: stage a takes 12 cycles and 4, stage b 8 cycles for either."""
    p = Metapipeline("uneven")
    x, v = p.input_region("x", "o i k", (rows, 4, 8), "fp8"), p.weight_region("v", "k n", (8, 1), "fp8")
    y = p.output_region("y", "o i n", (rows, 4, 1), "fp8")
    v_tile = p.load_tile(v, (8, 1))
    with p.metapipe(rows, over="o"), p.metapipe(2, over="i"):
        a = p.map("neg", p.load_tile(x, (1, 3, 8)), pcus=2, name="a")
        p.store_tile(y, p.mat_mul(p.buffer(a, depth=depth), v_tile, pcus=3, name="b"))
    return p.build()


def test_buffers_absorb_times_that_vary_between_steps() -> None:
    # a: 12, 4, 12, 4 ...; b: 8, 8, 8, 8 ... The closed form with each stage's longest time has 24 cycles for two steps.
    # A slot is taken while a fills it and until b has read it: with one, 12 + 8 + 4 + 8; with two, a's long step begins
    # when b has read the one before; with three, b never waits.
    rows = 50
    assert closed_forms.metapipe((12, 8), 2 * rows) == 8 + rows * 24
    by_depth = {depth: cycles_of(uneven(2 * rows, depth)) - cycles_of(uneven(rows, depth)) for depth in (1, 2, 3, 4)}
    assert by_depth == {1: rows * 32, 2: rows * 20, 3: rows * 16, 4: rows * 16}


@given(
    st.integers(1, 40),
    st.integers(1, 12),
    st.integers(1, 5),
    st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=5),
)
def test_stages_whose_time_varies_follow_the_recurrence(
    size: int, outer: int, inner: int, stages: list[tuple[int, int]]
) -> None:
    # Tiles of `outer` points, cut again into `inner`: the last step of either is smaller, and the last of the outer
    # pipe has fewer inner ones. A point is 36 elements; a stage has so many PCUs, and so many slots behind it.
    outer, inner = min(outer, size), min(inner, outer, size)
    p = Metapipeline("ragged")
    x, y = p.input_region("x", "m e", (size, 36), "fp8"), p.output_region("y", "m e", (size, 36), "fp8")
    with p.metapipe(-(-size // outer), over="m", tile=outer), p.metapipe(-(-outer // inner), over="m", tile=inner):
        made = p.load_tile(x, (inner, 36))
        for pcus, depth in stages:
            made = p.buffer(p.map("neg", made, pcus=pcus), depth=depth)
        p.store_tile(y, p.map("neg", made, pcus=4))
    tiles = [min(outer, size - start) for start in range(0, size, outer)]
    points = [min(inner, tile - at) for tile in tiles for at in range(0, tile, inner)]
    times = [[1] * len(points)]
    times += [[-(-36 * n // pcus) for n in points] for pcus, _ in [*stages, (4, 2)]]
    depths = [2, *(depth for _, depth in stages)]
    assert simulate_metapipe(p.build(), FAST).total_cycles == closed_forms.chain(times, depths) + 1


@pytest.mark.parametrize("depth", [2, 3, 8, 16])
def test_no_buffer_helps_a_stage_that_is_always_slower(depth: int) -> None:
    assert cycles_of(chain((5, 9, 4), 16, (depth,) * 3)) == closed_forms.metapipe((5, 9, 4), 16)


def test_the_published_constants() -> None:
    assert closed_forms.inner_pipe(10, 1, 6) == 9 + 6 + 4
    assert closed_forms.metapipe((5, 9, 4), 16, PUBLISHED) == 3 + 9 * 15 + 18 + 16 * 3
    assert closed_forms.sequential((5, 9, 4), 16, PUBLISHED) == 3 + 18 * 16 + 3 * 16 + 2 * 16
    assert closed_forms.stream((5, 9, 4), 16, PUBLISHED) == 3 + 9 * 16 + 1
    assert closed_forms.stream((5, 9, 4), 16) == 144
    assert closed_forms.draining(Draining(2, (Draining(3, (4, 5)), 7)), PUBLISHED) == 3 + 28 + (28 + 7) + 2 * 2
    assert closed_forms.dram_load(1024, 16) == 170 + Fraction(1024, 64)
    assert closed_forms.dram_load(8, 16, outer_iterations=4) == 170 + 2


def test_the_forms_of_stages_and_sections() -> None:
    assert closed_forms.element(640, 1000, 64, bytes_per_cycle=64, ops_per_cycle=256) == 10
    assert closed_forms.element(0, 1000, 0, bytes_per_cycle=64, ops_per_cycle=256) == Fraction(125, 32)
    # 100 x 100 x 64 on one array of 16 x 8: 7 x 13 passes of 64 cycles; on 2 x 4 arrays 4 x 4.
    assert closed_forms.gemm_cycles(100, 100, 64, 16, 8) == 7 * 13 * 64
    assert closed_forms.gemm_cycles(100, 100, 64, 16, 8, along_m=2, along_n=4) == 4 * 4 * 64
    assert closed_forms.simd_cycles(100, 64, 16, along_m=2) == 4 * 64
    assert closed_forms.section_s((100, 200), 10, 10**9, off_chip_s=1e-6, weights_s=1e-6) == pytest.approx(3e-6)
    assert closed_forms.section_s((100, 200), 10, 10**9, network_s=5e-6) == pytest.approx(5e-6)
    assert [closed_forms.ring_share(members) for members in (1, 2, 8)] == [0, 1, Fraction(7, 4)]
