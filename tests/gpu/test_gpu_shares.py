"""Stream-K and split-K: every step is somebody's, sums meet in one place, and SMs that were idle are not."""

from __future__ import annotations

from itertools import groupby
from random import Random

import numpy as np
import pytest

from gpu_model import load_machine, lower
from gpu_model.products.shares import Piece, Share, even_partials, even_share, split_partials, split_share
from gpu_model.schedule import schedule_named
from gpu_model.work import Choice, Grid, Use, Wave, Work
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.library import workload
from patterns.numbers.execute import execute
from patterns.pipeline.simulate import simulate
from patterns.plan import Call
from tests.test_laws import check_jump, check_run

H100 = load_machine("h100_sxm")
UNIT = load_machine("unit", {"sm_count": "4"})
SHARED = ("stream_k", "split_k")
WAVE = Wave(1, Use("load", 10, "load"), Use("store", 8, "store"))


def grid_of(tiles: int, wave: Wave = WAVE, partial: int = 16) -> Grid:
    uses = (Use("store", partial, "partial"), Use("load", partial, "take"), Use("vector", 4, "add"))
    return Grid(tiles, wave, *uses)


def work_of(grid: Grid, steps: int, step: int = 40, end: int = 6) -> Work:
    mma, convert = Use("tc", step, "mma"), Use("vector", end, "convert")
    return Work("w", (grid.wave,), steps, 1024, (mma,), (convert,), 5, accumulators=256, grid=grid)


def gemm(m: int, n: int, k: int) -> Graph:
    return workload("gemm", overrides={"m": str(m), "n": str(n), "k": str(k)})


def call_of(graph: Graph, schedule: str, **options: int) -> Call:
    return lower(graph, H100, schedule=schedule, options=options).calls[0]


def ranges(tiles: int, steps: int, sms: int) -> list[list[tuple[int, int]]]:
    """Of every SM, the tiles that it has steps of and how many: dealt out step by step."""
    each = -(-tiles * steps // sms)
    dealt = [[at // steps for at in range(tiles * steps)][first : first + each] for first in range(0, each * sms, each)]
    return [[(tile, len(list(mine))) for tile, mine in groupby(sm)] for sm in dealt if sm]


@pytest.mark.parametrize(
    ("tiles", "steps", "sms"), [(5, 7, 4), (9, 64, 4), (3, 5, 3), (13, 6, 8), (4, 4, 4), (7, 1, 3), (3, 4, 2)]
)
def test_an_even_share_is_that_of_an_sm_with_an_end_and_a_beginning(tiles: int, steps: int, sms: int) -> None:
    share, dealt = even_share(grid_of(tiles), steps, sms), ranges(tiles, steps, sms)
    mine = [piece.steps for piece in share.pieces for _ in range(piece.count)]
    # The second SM's last tile goes on with the third; where it does not, the first one's does.
    shown = dealt[1] if dealt[1][-1][0] == dealt[2 % len(dealt)][0][0] else dealt[0]
    assert mine == [count for _, count in shown]
    owners = [tile for sm in dealt for tile, _ in sm]
    assert even_partials(grid_of(tiles), steps, sms) == len(owners) - tiles
    endings = [piece.ending for piece in share.pieces]
    assert ("whole" in endings) == any(count == steps for _, count in shown)
    assert ("gathered" in endings) == (shown[-1][1] < steps)


def test_with_less_than_a_tile_for_each_sm_the_first_one_finishes_a_tile_of_several() -> None:
    # 2 tiles of 10 steps on 6 SMs: 4 steps each; tile 0 is of SMs 0, 1 and 2.
    assert even_share(grid_of(2), 10, 6) == Share((Piece(1, 4, "gathered", 2),), late=True)
    assert split_share(grid_of(2), 10, 3, 6) == Share((Piece(1, 4, "gathered", 2),), late=True)
    assert even_partials(grid_of(2), 10, 6) == split_partials(grid_of(2), 10, 3) == 4


def test_parts_are_rounds_of_their_own() -> None:
    # 3 tiles in 4 parts of 2 steps on 4 SMs: 3 rounds; the last one finishes a tile.
    assert split_share(grid_of(3), 8, 4, 4) == Share((Piece(2, 2, "partial"), Piece(1, 2, "gathered", 3)), late=True)
    assert split_share(grid_of(5), 8, 1, 4) == Share((Piece(2, 8, "whole"),))


@pytest.mark.parametrize("schedule", SHARED)
def test_adding_up_on_paper(schedule: str) -> None:
    """1 tile of 8 steps on 4 SMs: 2 steps each, from 10 + 5 on; the others write 16; after 5 three
    times 16 are there, 4 to add the last; then 6 + 8."""
    work, how = work_of(grid_of(1), 8), schedule_named(schedule)
    expected = 15 + 2 * 40 + 16 + (5 + 3 * 16 + 4) + 14
    choice = Choice(4, "tma")
    assert simulate(how.program(work, choice, UNIT)).total_cycles == expected
    assert how.predict(work, choice, UNIT) == expected


def test_tails_and_heads_on_paper() -> None:
    """5 tiles of 4 steps on 4 SMs: 5 each. The second has 3 of tile 1, and 2 of tile 2, which the third one ends."""
    work, how = work_of(grid_of(5), 4), schedule_named("stream_k")
    expected = 15 + 3 * 40 + 16 + 2 * 40 + (5 + 16 + 4) + 14
    timeline = simulate(how.program(work, Choice(8, "tma"), UNIT))
    assert timeline.total_cycles == expected == how.predict(work, Choice(8, "tma"), UNIT)
    assert "peers" not in timeline.busy_cycles


@pytest.mark.parametrize("schedule", SHARED)
def test_predictions_are_near_the_simulation(schedule: str) -> None:
    random, how, errors = Random(5), schedule_named(schedule), []
    for _ in range(150):
        load, step, end, store, partial = (int(10 ** random.uniform(0, 3)) for _ in range(5))
        wave = Wave(1, Use("load", load, "load"), Use("store", store, "store"))
        work = work_of(grid_of(random.randint(1, 300), wave, partial), random.choice([1, 3, 16, 100]), step, end)
        choice = Choice(random.randint(1, 8), "tma", splits=random.randint(0, 5))
        simulated = simulate(how.program(work, choice, H100), spans=False).total_cycles
        errors.append(abs(how.predict(work, choice, H100) / simulated - 1))
    assert sorted(errors)[len(errors) // 2] < 0.01
    assert sorted(errors)[len(errors) * 9 // 10] < 0.06


@pytest.mark.parametrize("extents", [(1, 300, 1000), (65, 130, 700), (300, 257, 129)])
@pytest.mark.parametrize("schedule", SHARED)
def test_sums_are_right(schedule: str, extents: tuple[int, int, int]) -> None:
    graph = gemm(*extents)
    plan, arrays = lower(graph, H100, schedule=schedule), random_arrays(graph, 3, 1)
    assert len(plan.calls) == 1
    for name, array in evaluate(graph, arrays, 1).items():
        np.testing.assert_allclose(execute(plan, arrays)[name], array, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("schedule", SHARED)
def test_a_product_with_few_tiles_and_many_steps_is_faster(schedule: str) -> None:
    graph = gemm(128, 256, 16384)
    shared, alone = call_of(graph, schedule), call_of(graph, "warp_specialized")
    assert simulate(shared.program).total_cycles < 0.6 * simulate(alone.program).total_cycles
    # What passes the workspace is counted, in the program's own SM and on the whole GPU.
    assert dict(shared.traffic)["l2"] > dict(alone.traffic)["l2"] * 0.2
    assert dict(shared.work)["vector_ops"] > dict(alone.work)["vector_ops"]
    assert dict(shared.traffic)["hbm"] == dict(alone.traffic)["hbm"]


def test_stream_k_does_not_wait_for_a_wave_that_is_nearly_empty() -> None:
    # 16 x 9 tiles of 128 x 256 are 144 on 132 SMs: two rounds of 64 steps, or 70 steps each.
    graph, tiles = gemm(2048, 2304, 4096), {"tile_m": 128, "tile_n": 256}
    shared, alone = call_of(graph, "stream_k", **tiles), call_of(graph, "warp_specialized", **tiles)
    assert simulate(shared.program).total_cycles < 0.75 * simulate(alone.program).total_cycles


def test_split_k_has_as_many_parts_as_asked() -> None:
    graph = gemm(64, 256, 4096)
    for splits in (1, 2, 8):
        call = call_of(graph, "split_k", tile_m=64, tile_n=64, splits=splits)
        taken = [op for role in call.program.roles for op in str(role.script).split("label='take'")[1:]]
        assert bool(taken) == (splits > 1)
        passed = 4 * (splits - 1) * 64 * 64 * 4
        plain = dict(call_of(graph, "warp_specialized", tile_m=64, tile_n=64).traffic)["l2"]
        assert dict(call.traffic)["l2"] - plain == 2 * passed


@pytest.mark.parametrize("schedule", SHARED)
def test_two_products_of_one_operand_share_their_steps_too(schedule: str) -> None:
    """A gate and an up projection with what joins them: one tile has the sums of both, and both pass on."""
    graph = workload("swiglu_mlp", overrides={"tokens": "9", "hidden": "500", "ffn": "70"})
    plan = lower(graph, H100, policy="epilogue", schedule=schedule)
    both = next(call for call in plan.calls if len(call.nodes) > 2)
    assert both.schedule.startswith(schedule)
    check_jump(plan)
    check_run(plan)
    arrays = random_arrays(graph, 3, 1)
    for name, array in evaluate(graph, arrays, 1).items():
        np.testing.assert_allclose(execute(plan, arrays)[name], array, rtol=1e-9, atol=1e-9)
