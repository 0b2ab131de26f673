"""Thread-level parallelism: CTAs that share an SM, where they hide latency and where they cannot."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_model import load_machine, lower
from gpu_model.occupancy.hiding import hidden
from gpu_model.occupancy.limits import Kernel, occupancy
from gpu_model.occupancy.resident import by_cta, predicted, program
from gpu_model.occupancy.tile_cta import Tile, tile_cta
from gpu_model.options import Options
from gpu_model.schedule import schedule_named
from gpu_model.work import Choice, Use, Wave, Work
from patterns.errors import DoesNotFit
from patterns.library import workload
from patterns.pipeline.simulate import simulate
from patterns.plan import Call

# The lecture's SM, which refuses what does not fit: 64 B/cycle, 700 cycles of latency, 100 to issue a tile's load.
SM = replace(load_machine("lecture_sm"), fit="refuse")
GRAPH = workload("gemm", overrides={"m": 2048, "n": 512, "k": 4096})


def kernel(rows: int, columns: int, ctas: int | None = None, schedule: str = "synchronous") -> Call:
    options: dict[str, int | str] = {"tile_m": rows, "tile_n": columns, "loader": "cp_async"}
    (call,) = lower(GRAPH, SM, schedule=schedule, options={**options, **({"ctas": ctas} if ctas else {})}).calls
    return call


def busy(call: Call, unit: str) -> float:
    run = simulate(call.program)
    return run.busy_cycles[unit] / run.total_cycles


def test_one_cta_waits_for_every_load() -> None:
    # 100 to issue, 256 to transfer 16 KiB, 700 of latency, 128 of products: 1,184 cycles a step.
    assert busy(kernel(64, 64, 1), "load") == pytest.approx(256 / 1184, rel=0.02)
    assert busy(kernel(128, 256, 1), "tc") == pytest.approx(0.392, abs=0.005)


def test_small_tiles_with_many_ctas_hide_700_cycles() -> None:
    # 1,184 / 256: from five CTAs on the load path never stops, and no latency is left to see.
    shares_of_load = [busy(kernel(64, 64, ctas), "load") for ctas in (1, 2, 4, 5, 8)]
    assert shares_of_load == sorted(shares_of_load)
    assert shares_of_load[2] < 0.9
    assert min(shares_of_load[3:]) > 0.98
    # But half of the time of the tensor cores is lost: a small tile moves too many bytes for its products.
    assert busy(kernel(64, 64, 8), "tc") == pytest.approx(0.5, abs=0.01)


def test_a_large_tile_has_no_second_cta_and_hides_nothing() -> None:
    with pytest.raises(DoesNotFit, match="needs 2 CTAs on an SM, there is 1; limited by registers"):
        kernel(128, 256, 2)
    assert "CTAs" not in kernel(128, 256).schedule
    assert busy(kernel(128, 256), "tc") < 0.4
    # Between them: three CTAs of 128 x 128 fit, and hide most.
    assert "3 CTAs on an SM" in kernel(128, 128).schedule
    assert busy(kernel(128, 128), "tc") == pytest.approx(0.81, abs=0.02)


def test_an_sm_runs_as_many_ctas_as_fit_and_no_more_than_tiles() -> None:
    assert "8 CTAs on an SM" in kernel(64, 64).schedule
    small = workload("gemm", overrides={"m": 128, "n": 64, "k": 4096})
    (call,) = lower(small, SM, schedule="synchronous", options={"tile_m": 64, "tile_n": 64}).calls
    assert "2 CTAs on an SM" in call.schedule


@pytest.mark.parametrize("schedule", ["synchronous", "register_double_buffer", "multistage"])
def test_the_lectures_single_tile_is_alone(schedule: str) -> None:
    one = workload("gemm", overrides={"m": 128, "n": 256, "k": 4096})
    (call,) = lower(one, load_machine("lecture_sm"), schedule=schedule).calls
    assert "CTAs" not in call.schedule


@pytest.mark.parametrize(("tile", "most", "share"), [((64, 64), 8, 0.5), ((128, 128), 3, 0.82), ((128, 256), 1, 0.39)])
def test_the_table_of_what_ctas_hide(tile: tuple[int, int], most: int, share: float) -> None:
    cta = tile_cta(SM, Tile(*tile, 64), "synchronous", Options(loader="cp_async"))
    table = hidden(SM, cta)
    assert [row.ctas for row in table] == list(range(1, most + 1))
    assert table[-1].matrix_share == pytest.approx(share, abs=0.02)
    # More CTAs never hide less, and each of them waits longer for units that others hold.
    assert all(after.matrix_share >= before.matrix_share - 1e-3 for before, after in pairwise(table))
    assert table[0].stalled_share <= table[-1].stalled_share
    assert hidden(SM, tile_cta(SM, Tile(*tile, 64), "warp_specialized")) == ()


def test_ctas_share_units_and_the_four_schedulers() -> None:
    found = kernel(64, 64, 4).program
    lanes = {unit.name: unit.lanes for unit in found.units}
    # Four warps of a CTA have all four schedulers, so one CTA at a time issues.
    assert lanes["tc"] == lanes["load"] == lanes["issue"] == 1
    assert [role.name for role in found.roles] == ["cta.0", "cta.1", "cta.2", "cta.3"]
    assert [channel.name for channel in found.channels] == ["ring.0", "ring.1", "ring.2", "ring.3"]
    assert {unit.name: unit.lanes for unit in kernel(64, 64, 1).program.units}["issue"] == 4


@given(st.integers(0, 9), st.integers(1, 9), st.integers(1, 8))
def test_every_tile_is_dealt_out_once(full: int, rest: int, ctas: int) -> None:
    load, store = Use("load", 1, "load"), Use("store", 1, "store")
    waves = tuple(Wave(tiles, load, replace(store, cycles=n)) for n, tiles in enumerate((full, rest)) if tiles)
    work = Work("k", waves, 1, 1024, (), (), 0)
    dealt = by_cta(work, ctas)
    assert sum(share.tiles for share in dealt) == full + rest
    assert len(dealt) == min(ctas, full + rest)
    most = max(share.tiles for share in dealt)
    assert most - min(share.tiles for share in dealt) <= 1


@pytest.mark.parametrize("name", ["synchronous", "multistage"])
@pytest.mark.parametrize("ctas", [1, 2, 3, 4, 6, 8])
@pytest.mark.parametrize("mma_cycles", [64, 128, 512])
def test_the_prediction_is_near_the_simulation(name: str, ctas: int, mma_cycles: int) -> None:
    load, store = Use("load", 256, "load"), Use("store", 300, "store")
    step = (Use("tc", mma_cycles, "mma"),)
    work = Work(
        "k", (Wave(24, load, store),), 32, 16_384, step, (Use("vector", 64, "convert"),), 700, accumulators=4096
    )
    choice = Choice(slots=1 if name == "synchronous" else 3, loader="cp_async", ctas=ctas)
    schedule = schedule_named(name)
    run = simulate(program(schedule, work, choice, SM))
    assert predicted(schedule, work, choice, SM) == pytest.approx(run.total_cycles, rel=0.12)


@pytest.mark.parametrize(
    "name", ["synchronous", "register_double_buffer", "multistage", "warp_specialized", "cooperative", "pingpong"]
)
def test_any_schedule_can_be_put_beside_itself(name: str) -> None:
    load, store = Use("load", 256, "load", (("l2_bytes", 16_384),)), Use("store", 300, "store")
    step = (Use("tc", 128, "mma", (("matrix_flops", 524_288),)),)
    work = Work("k", (Wave(7, load, store),), 8, 16_384, step, (Use("vector", 64, "convert"),), 700, row_blocks=2)
    schedule = schedule_named(name)
    choice = Choice(slots=2, loader=schedule.LOADERS[0], warpgroups=schedule.WARPGROUPS[0])
    alone = simulate(program(schedule, work, choice, SM))
    beside = simulate(program(schedule, work, replace(choice, ctas=3), SM))
    # The same work, on the same units, in less time.
    assert beside.counters == alone.counters
    assert beside.busy_cycles["tc"] == alone.busy_cycles["tc"]
    assert beside.total_cycles < alone.total_cycles


def test_an_sm_that_is_set_smaller_than_a_cta_holds_none() -> None:
    """What is set on the command line may contradict the file: of such CTAs an SM holds none."""
    machine = load_machine("a100_sxm", {"smem_bytes": "8 KiB"})
    with pytest.raises(DoesNotFit, match="CTAs on an SM by shared memory"):
        occupancy(machine, Kernel(128, 32, 100_000))
    # Among tiles those of which it holds some are left.
    extents = {"seq": "190", "context": "190", "kv_heads": "2", "group": "5"}
    plan = lower(workload("attention", overrides=extents), machine, policy="operator", options={"slots": 3})
    assert any("3 slots" in call.schedule for call in plan.calls)
