"""Prices of tiles and who gets how many PCUs, against closed forms and brute force."""

from __future__ import annotations

from itertools import product
from math import prod, sqrt
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdu_model.ask import ask
from rdu_model.machine import load_machine
from rdu_model.metapipe import Metapipeline
from rdu_model.parallelize import Task, allocate
from rdu_model.price import Grid, cycles, fewest_pcus, grid, issued_flops, rereads, spread

SN40L = load_machine("sn40l")
blocks_of = st.lists(st.integers(1, 12), min_size=1, max_size=3).map(tuple)


def asked_mm(m: int, n: int, k: int):
    """The node of C[m, n] = A[m, k] B[k, n], and its extents."""
    p = Metapipeline("mm")
    a, b = p.input_region("A", "m k", (m, k)), p.input_region("B", "k n", (k, n))
    p.store_tile(p.output_region("C", "m n", (m, n)), p.mat_mul(p.load_tile(a, (m, k)), p.load_tile(b, (k, n))))
    metapipe = p.build()
    return ask(metapipe.graph, metapipe.graph.blocks[0].nodes[0]), metapipe.graph.sizes


@pytest.mark.parametrize(
    ("m", "n", "k", "lanes", "stages"),
    [(256, 64, 4096, 2, 2), (1, 14336, 4096, 1, 128), (17, 9, 5, 1, 1), (100, 100, 100, 7, 3)],
)
def test_a_gemm_costs_what_dfmodel_says(m: int, n: int, k: int, lanes: int, stages: int) -> None:
    asked, sizes = asked_mm(m, n, k)
    work = grid(asked, sizes, SN40L)
    # ceil(M / (p_lane W)) * ceil(N / (p_stage H)) * K, with W = 16, H = 8, and two multiply-adds a cycle along K.
    formula = -(-m // (lanes * 16)) * -(-n // (stages * 8)) * -(-k // 2)
    assert cycles(work, lanes * stages) <= formula
    best = min(
        -(-m // (pl * 16)) * -(-n // (ps * 8)) * -(-k // 2)
        for pl in range(1, lanes * stages + 1)
        for ps in range(1, lanes * stages // pl + 1)
    )
    assert cycles(work, lanes * stages) == best


def test_one_pcu_of_unit_does_one_multiply_add_a_cycle() -> None:
    asked, sizes = asked_mm(3, 5, 7)
    assert cycles(grid(asked, sizes, load_machine("unit")), 1) == 3 * 5 * 7


def test_padding_is_work_that_is_issued() -> None:
    # One row on 16 lanes: sixteen times the FLOPs that count.
    asked, sizes = asked_mm(1, 8, 100)
    assert issued_flops(asked, grid(asked, sizes, SN40L), SN40L) == 16 * 2 * 8 * 100


def test_rows_are_read_again_for_each_pass_over_columns() -> None:
    asked, sizes = asked_mm(32, 64, 128)  # 2 x 8 blocks
    work = grid(asked, sizes, SN40L)
    assert spread(work.blocks, 4) == (1, 2, 2)  # 4 PCUs along the columns: two passes over rows, two over columns
    assert rereads(asked, work, 4) == (2, 2)
    assert rereads(asked, work, 2) == (4, 2)
    assert rereads(asked, work, 16) == (1, 1)


@given(blocks_of, st.integers(1, 40))
def test_spread_is_the_best_split(blocks: tuple[int, ...], pcus: int) -> None:
    splits = (p for p in product(*(range(1, b + 1) for b in blocks)) if prod(p) <= pcus)
    best = min(prod(-(-b // p) for b, p in zip(blocks, split, strict=True)) for split in splits)
    assert prod(spread(blocks, pcus)) == best


@given(blocks_of, st.integers(1, 60))
def test_fewest_pcus_is_the_least_number_that_is_fast_enough(blocks: tuple[int, ...], each: int) -> None:
    fewest = fewest_pcus(blocks, each)
    assert prod(spread(blocks, fewest)) <= each
    assert fewest == 1 or prod(spread(blocks, fewest - 1)) > each


@given(st.lists(st.tuples(blocks_of, st.integers(1, 9), st.integers(1, 4)), min_size=1, max_size=3), st.integers(0, 12))
def test_the_slowest_stage_is_as_fast_as_the_fabric_allows(
    stages: list[tuple[tuple[int, ...], int, int]], spare: int
) -> None:
    loads = [Task(Grid(blocks, block_cycles), tiles) for blocks, block_cycles, tiles in stages]
    pcus = len(loads) + spare

    def slowest(given: tuple[int, ...]) -> int:
        return max(cycles(load.work, p) * load.tiles for load, p in zip(loads, given, strict=True))

    found = allocate(loads, pcus)
    assert sum(found) <= pcus
    ways = (way for way in product(range(1, pcus + 1), repeat=len(loads)) if sum(way) <= pcus)
    assert slowest(found) == min(map(slowest, ways))


def one_by_one(stages: list[Task], pcus: int) -> tuple[int, ...]:
    """From one PCU each on: the slowest gets what makes it faster, until nobody can be helped."""
    work: dict[str, int] = {}
    for stage in stages:
        work[stage.phase] = work.get(stage.phase, 0) + stage.work.total_cycles * stage.tiles
    given, open_ = [1] * len(stages), set(range(len(stages)))
    while open_:
        times = {
            at: cycles(stages[at].work, given[at]) * stages[at].tiles * (1 / sqrt(max(1, work[stages[at].phase])))
            for at in sorted(open_)
        }
        at = max(times, key=times.__getitem__)
        grid_of = stages[at].work
        each = prod(spread(grid_of.blocks, given[at]))
        more = fewest_pcus(grid_of.blocks, each - 1) - given[at] if each > 1 else 0
        if not more or each * grid_of.block_cycles <= grid_of.least_cycles or more > pcus - sum(given):
            open_.remove(at)
        else:
            given[at] += more
    return tuple(given)


@pytest.mark.parametrize("seed", range(60))
def test_a_search_that_begins_on_the_way_ends_where_one_from_the_start_does(seed: int) -> None:
    rng = Random(seed)
    stages = []
    for _ in range(rng.randint(1, 12)):
        flat, deep = (rng.randint(1, 900),), (rng.choice((1, 8)), rng.randint(1, 12), rng.randint(1, 60))
        work = Grid(rng.choice((flat, deep)), rng.choice((1, 2, 5, 64)), rng.choice((0, 0, 40, 3000)))
        stages.append(Task(work, rng.choice((1, 3, 32, 500)), rng.choice(("", "a", "b"))))
    pcus = len(stages) + rng.randint(0, 300)
    assert allocate(stages, pcus) == one_by_one(stages, pcus)


def test_pcus_left_over_make_other_stages_faster() -> None:
    # The first cannot be helped beyond 4 PCUs; what it leaves goes to the second.
    assert allocate([Task(Grid((4,), 100), 1), Task(Grid((64,), 1), 1)], 20) == (4, 16)


def test_phases_that_follow_one_another_share_by_the_root_of_their_work() -> None:
    # 900 and 100 cycles of work, 40 PCUs: 30 and 10 give 30 + 10 = 40 cycles, 36 and 4 would give 25 + 25 = 50.
    assert allocate([Task(Grid((900,), 1), 1, "first"), Task(Grid((100,), 1), 1, "then")], 40) == (30, 10)
