"""The data-centric language: the lecture's nested matmul, timed by hand and run on numbers."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from patterns.errors import UserError
from patterns.numbers.execute import execute
from patterns.pipeline.simulate import simulate
from patterns.pipeline.timeline import Timeline
from rdu_model import Metapipeline, load_machine, lower_metapipe, simulate_metapipe
from rdu_model.metapipe import steps_of
from rdu_model.pipe import Load, Metapipe, Pipe, Stage, Store


def nested_matmul(m: int, n: int, k: int, *, pcus: int = 0, drain: bool = False) -> Metapipe:
    """The lecture's example 3: tiles of 256 rows and 64 columns, B through four streams."""
    p = Metapipeline("matmul")
    a = p.input_region("A", "m k", (m, k))
    b = p.input_region("B", "k n", (k, n))
    c = p.output_region("C", "m n", (m, n))
    with p.metapipe(steps_of(m, 256)):
        a_tile = p.load_tile(a, (256, k))
        with p.metapipe(steps_of(n, 64), drain=drain):
            b_tile = p.load_tile(b, (k, 64), row_par=4)
            c_tile = p.buffer(p.mat_mul(a_tile, b_tile, pcus=pcus))
            p.store_tile(c, c_tile)
    return p.build()


def run(metapipe: Metapipe, machine: str = "unit", **overrides: str) -> Timeline:
    """The one call of a metapipe, simulated."""
    return simulate(lower_metapipe(metapipe, load_machine(machine, overrides)).calls[0].program)


def test_the_nested_matmul_is_a_pipeline_of_pipelines() -> None:
    metapipe = nested_matmul(512, 128, 4)
    (outer,) = metapipe.body
    assert isinstance(outer, Pipe)
    assert (outer.dim, outer.extent) == ("m", 256)
    a_tile, inner = outer.body
    assert isinstance(inner, Pipe)
    assert (inner.dim, inner.extent) == ("n", 64)
    assert a_tile == Load("load A", "A", row_par=1)
    assert inner.body == (
        Load("load B", "B", row_par=4),
        Stage("mat_mul", (("load A",), ("load B",))),
        Store("store C", "C", "mat_mul"),
    )


def test_a_metapipe_is_data() -> None:
    one, same = nested_matmul(512, 128, 4), nested_matmul(512, 128, 4)
    assert one == same
    assert hash(one.body) == hash(same.body)
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.name = "other"  # type: ignore[misc]


def test_on_unit_memory_bound_by_hand() -> None:
    # One byte a cycle: A 2 x 2048, B 4 x 512, C 4 x 32768 bytes. 64 PCUs multiply a tile in 256*64*4/64 = 1024 cycles,
    # while 33280 bytes pass. The first store is asked for at 2048 + 512 + 1024 = 3584, when HBM still has A1 (to 4608)
    # and B1 (to 5120) to bring: HBM never rests, and the last thing it does is store C.
    timeline = run(nested_matmul(512, 128, 4))
    assert timeline.total_cycles == 2 * 2048 + 4 * 512 + 4 * 32768 == 137216
    assert timeline.busy_cycles["hbm"] == 137216
    assert timeline.busy_cycles["pcu mat_mul"] == 4 * 1024


def test_on_unit_compute_bound_by_hand() -> None:
    # One PCU: 65536 cycles a tile. Fill: A0 and B0. Then four tiles without a gap (B1 is there at 5120, the stores are
    # shorter than a tile), then the last store: sum of the stages + 3 x the slowest.
    timeline = run(nested_matmul(512, 128, 4, pcus=1))
    assert timeline.total_cycles == 2048 + 512 + 4 * 65536 + 32768 == 297472


def test_on_unit_the_last_steps_are_smaller() -> None:
    # 300 x 100 x 7 in tiles of 256 and 44 rows, 64 and 36 columns: every byte once per use and no more.
    timeline = run(nested_matmul(300, 100, 7))
    a, b, c = 300 * 7 * 2, 2 * 7 * 100 * 2, 300 * 100 * 2
    assert dict(timeline.counters)["hbm_bytes"] == a + b + c
    assert dict(timeline.counters)["matrix_flops"] == 2 * 300 * 100 * 7


def test_draining_costs_the_fill_of_every_outer_step() -> None:
    # Closed form of a pipe that drains: each outer step is B0 + 2 tiles + a store; A1 is there long before.
    timeline = run(nested_matmul(512, 128, 4, pcus=1, drain=True))
    assert timeline.total_cycles == 2048 + 2 * (512 + 2 * 65536 + 32768) == 330752


def test_on_sn40l_near_the_closed_form() -> None:
    # B: 512 KiB through 4 x 64 B/cycle = 2048 cycles, usable 170 later. Multiply: 16 x 8 blocks of 2048 cycles on 128
    # PCUs, + 12. Two slots of B: a tile takes (2048 + 170 + 2060) / 2 = 2139 cycles. Fill: A, 2 MiB at 64, + 170.
    # Ways over the mesh cost nothing here.
    mesh = {"hop_cycles": "0 cycles", "crossing_cycles": "0 cycles", "mesh_links": "1000"}
    timeline = run(nested_matmul(4096, 4096, 4096), "sn40l", **mesh)
    closed = 32768 + 170 + 1024 * 2139
    # The first two tiles of B are there when A is: the products of these take 2060 cycles each. Each later tile of A
    # holds HBM for 1589 cycles in the way of B: at most so much is lost, 15 times.
    assert closed - 2 * (2139 - 2060) <= timeline.total_cycles <= closed + 15 * 1589 + 2060 + 25
    assert timeline.busy_cycles["pcu mat_mul"] == 1024 * 2060
    assert timeline.steps < 30_000  # the steady state is jumped over


@pytest.mark.parametrize("size", [(512, 128, 4), (300, 100, 7), (256, 64, 3), (5, 3, 2), (257, 65, 9), (1000, 1, 1)])
def test_on_numbers_tile_by_tile(size: tuple[int, int, int]) -> None:
    m, n, k = size
    plan = lower_metapipe(nested_matmul(m, n, k), load_machine("unit"))
    numbers = np.random.default_rng(0)
    a, b = numbers.normal(size=(m, k)), numbers.normal(size=(k, n))
    np.testing.assert_allclose(execute(plan, {"A": a, "B": b})["C"], a @ b)


def test_a_buffer_may_be_read_transposed() -> None:
    p = Metapipeline("transposed")
    a, b = p.input_region("A", "m k", (70, 5)), p.input_region("B", "k n", (5, 9))
    c = p.output_region("Ct", "n m", (9, 70))
    with p.metapipe(steps_of(70, 32)):
        product = p.mat_mul(p.load_tile(a, (32, 5)), p.load_tile(b, (5, 9)))
        p.store_tile(c, p.buffer(product, "n m"))
    plan = lower_metapipe(p.build(), load_machine("unit"))
    numbers = np.random.default_rng(0)
    a_array, b_array = numbers.normal(size=(70, 5)), numbers.normal(size=(5, 9))
    np.testing.assert_allclose(execute(plan, {"A": a_array, "B": b_array})["Ct"], (a_array @ b_array).T)
    # The access pattern costs nothing: no role, no unit.
    assert [role.name for role in plan.calls[0].program.roles] == ["load A", "load B", "mat_mul", "store Ct"]


def softmax(rows: int, columns: int, tile: int) -> Metapipe:
    """The lecture's example 4, a pipe over rows."""
    p = Metapipeline("softmax")
    x, y = p.input_region("x", "rows columns", (rows, columns)), p.output_region("y", "rows columns", (rows, columns))
    with p.metapipe(steps_of(rows, tile)):
        e = p.map("exp", p.load_tile(x, (tile, columns)))
        p.store_tile(y, p.zip("div", e, p.reduce("sum", e, "columns")))
    return p.build()


def test_softmax_as_map_reduce_zip() -> None:
    plan = lower_metapipe(softmax(37, 11, 8), load_machine("unit"))
    x = np.random.default_rng(0).normal(size=(37, 11))
    np.testing.assert_allclose(execute(plan, {"x": x})["y"], np.exp(x) / np.exp(x).sum(1, keepdims=True))


def test_a_sum_over_the_innermost_pipe() -> None:
    p = Metapipeline("split")
    a, b = p.input_region("A", "m k", (6, 100)), p.input_region("B", "k n", (100, 4))
    c = p.output_region("C", "m n", (6, 4))
    with p.metapipe(steps_of(100, 16)):
        product = p.mat_mul(p.load_tile(a, (6, 16)), p.load_tile(b, (16, 4)))
    p.store_tile(c, product)
    plan = lower_metapipe(p.build(), load_machine("unit"))
    numbers = np.random.default_rng(0)
    a_array, b_array = numbers.normal(size=(6, 100)), numbers.normal(size=(100, 4))
    np.testing.assert_allclose(execute(plan, {"A": a_array, "B": b_array})["C"], a_array @ b_array)


def test_a_tile_over_sockets_is_summed_without_hbm() -> None:
    p = Metapipeline("sum")
    x, y = p.input_region("x", "t", (64,)), p.output_region("y", "t", (64,))
    with p.metapipe(4):
        p.store_tile(y, p.all_reduce(p.load_tile(x, (16,)), members=4))
    plan = lower_metapipe(p.build(), load_machine("unit"))
    counters = dict(simulate(plan.calls[0].program).counters)
    # Each of 4 members sends 2 * 3/4 of 128 bytes; HBM sees x and y and nothing else.
    assert (counters["network_bytes"], counters["hbm_bytes"]) == (192, 256)
    x_array = np.random.default_rng(0).normal(size=(4, 64))
    np.testing.assert_allclose(execute(plan, {"x": x_array})["y"], np.broadcast_to(x_array.sum(0), (4, 64)))


def written(what: str) -> Metapipe:
    """Metapipes that cannot be."""
    p = Metapipeline("wrong")
    a, b = p.input_region("A", "m k", (512, 8)), p.input_region("B", "k n", (8, 64))
    c = p.output_region("C", "m n", (512, 64))
    if what == "steps":
        with p.metapipe(3):
            p.load_tile(a, (256, 8))
    elif what == "nothing cut":
        with p.metapipe(2):
            p.load_tile(b, (8, 64))
    elif what == "not complete":
        with p.metapipe(4):
            product = p.mat_mul(p.load_tile(a, (512, 2)), p.load_tile(b, (2, 64)))
            p.store_tile(c, product)
    elif what == "order of loops":
        with p.metapipe(4):
            b_tile = p.load_tile(b, (2, 64))
            with p.metapipe(2):
                product = p.mat_mul(p.load_tile(a, (256, 2)), b_tile)
        p.store_tile(c, product)
    elif what == "transposed":
        p.store_tile(
            p.output_region("D", "n m", (64, 512)), p.mat_mul(p.load_tile(a, (512, 8)), p.load_tile(b, (8, 64)))
        )
    elif what == "other tile":
        with p.metapipe(2):
            p.load_tile(a, (256, 8))
            p.load_tile(a, (128, 8))
    elif what == "reduced twice":
        with p.metapipe(8):
            p.reduce("sum", p.load_tile(a, (64, 8)), "n")
    return p.build()


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (
            "steps",
            r"tiles of 256 cover 'm' \(512\) in 2 steps; the metapipes around it that cut nothing yet have \[3\]",
        ),
        ("nothing cut", "metapipe of 2 steps: no tile loaded in it is a part of its region"),
        ("not complete", "store C reads mat_mul inside the metapipe over 'k', which mat_mul adds up over"),
        ("order of loops", "mat_mul adds up over 'k' around the metapipe over 'm': put 'k' inside"),
        (
            "transposed",
            r"D: the region is \[n, m\], the tile \[m, n\]; buffer\(tile, 'n m'\) gives that order",
        ),
        ("other tile", "128 of 'm', but its metapipe cuts 256"),
        ("reduced twice", "sum: A has no dim 'n' to reduce"),
        ("nothing stored", "nothing is stored in C"),
    ],
)
def test_what_cannot_be_is_refused_in_words(what: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        written(what)


def test_a_million_steps_in_each_of_a_million_are_simulated_at_once() -> None:
    p = Metapipeline("many")
    a, b = p.input_region("A", "m k", (10**6, 4), "fp8"), p.input_region("B", "k n", (4, 10**6), "fp8")
    c = p.output_region("C", "m n", (10**6, 10**6), "fp8")
    with p.metapipe(10**6):
        a_tile = p.load_tile(a, (1, 4))
        with p.metapipe(10**6):
            p.store_tile(c, p.mat_mul(a_tile, p.load_tile(b, (4, 1))))
    timeline = simulate_metapipe(p.build(), load_machine("sn40l"))
    assert timeline.steps < 100_000
    assert timeline.busy_cycles["pcu mat_mul"] % 10**12 == 0
    assert timeline.total_cycles >= timeline.busy_cycles["pcu mat_mul"]
