"""DMA warps without a TMA: they share the issue, their loads overlap with computing, and their registers cost tiles."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gpu_model import load_machine, lower
from gpu_model.schedule import schedule_named
from patterns.errors import DoesNotFit, UserError
from patterns.library import workload
from patterns.pipeline.simulate import simulate
from patterns.pipeline.timeline import Timeline
from patterns.plan import Plan
from tests.gpu.random_work import prediction_errors

# The lecture's tile: 64 steps of 1024 cycles of tensor core, 768 of load path, 700 of latency; 256 + 1024 to end it.
STEPS, MMA, LOAD, LATENCY, END = 64, 1024, 768, 700, 1280


def plan(schedule: str, options: Mapping[str, int | str], machine: str = "lecture_sm", issue: int = 100) -> Plan:
    set_to = {"cp_async_issue_cycles": f"{issue} cycles"}
    return lower(workload("gemm"), load_machine(machine, set_to), schedule=schedule, options=options)


def run(schedule: str, options: Mapping[str, int | str], issue: int = 100) -> Timeline:
    return simulate(plan(schedule, options, issue=issue).calls[0].program)


@pytest.mark.parametrize("issue", [0, 100, 800, 1500])
def test_one_dma_warp_is_a_producer_with_cp_async(issue: int) -> None:
    one = run("cuda_dma", {"slots": 4, "dma_warps": 1, "loader": "cp_async"}, issue)
    producer = run("warp_specialized", {"slots": 4, "loader": "cp_async"}, issue)
    assert one.total_cycles == producer.total_cycles


@pytest.mark.parametrize(("dma_warps", "shown"), [(1, 3000), (2, 1500), (4, 750), (8, 375)])
def test_dma_warps_share_the_issue(dma_warps: int, shown: int) -> None:
    # 3000 cycles of issue a step: alone it sets the pace, from four warps on the tensor core does.
    timeline = run("cuda_dma", {"slots": 4, "dma_warps": dma_warps}, 3000)
    pace = max(shown, MMA)
    first, last = shown + LOAD + LATENCY, MMA + END
    assert timeline.total_cycles == first + (STEPS - 1) * pace + last


def test_gain_over_warps_that_load_and_compute_where_issue_is_dear() -> None:
    synchronous = run("synchronous", {"loader": "cp_async"}, 1500).total_cycles
    multistage = run("multistage", {"slots": 4}, 1500).total_cycles
    dma = run("cuda_dma", {"slots": 4}, 1500).total_cycles
    assert (synchronous, multistage, dma) == (256768, 162816, 68659)


def test_single_and_double_buffering() -> None:
    # One buffer: load and compute alternate. Two: whichever of round trip over two buffers and computing is longer.
    issue = 100 // 4
    trip = issue + LOAD + LATENCY + MMA
    assert run("cuda_dma", {"slots": 1}).total_cycles == STEPS * trip + END
    double = run("cuda_dma", {"slots": 2}).total_cycles
    assert double < 0.52 * STEPS * trip
    assert run("cuda_dma", {"slots": 4}).total_cycles < double


def test_by_registers_every_buffer_has_warps_of_its_own() -> None:
    program = plan("cuda_dma", {"slots": 2, "dma_warps": 4, "loader": "registers"}).calls[0].program
    assert [role.name for role in program.roles] == [*(f"dma{n}" for n in range(8)), "compute"]
    by_registers = simulate(program).total_cycles
    # Writing 48 KiB to shared memory at 256 B a cycle, a quarter by each warp, lengthens the way of a buffer.
    assert run("cuda_dma", {"slots": 2}).total_cycles < by_registers < run("cuda_dma", {"slots": 1}).total_cycles


def test_nothing_is_loaded_twice_and_nothing_left_out() -> None:
    whole = run("warp_specialized", {"slots": 4}).counters
    for options in ({"slots": 4}, {"slots": 2, "loader": "registers"}, {"slots": 4, "dma_warps": 8}):
        assert dict(run("cuda_dma", options).counters) == dict(whole)


def test_a_v100_that_has_no_asynchronous_copy_gains_by_them() -> None:
    machine = load_machine("v100")
    graph = workload("gemm", overrides={"m": "4096", "n": "4096", "k": "4096"})
    with pytest.raises(UserError, match="cuda_dma works there"):
        lower(graph, machine, schedule="warp_specialized")
    # One CTA each: several would hide each other's loads.
    synchronous = lower(graph, machine, schedule="synchronous", options={"ctas": 1})
    dma = lower(graph, machine, schedule="cuda_dma")
    cycles = [simulate(p.calls[0].program).total_cycles for p in (synchronous, dma)]
    assert cycles[1] < 0.7 * cycles[0]


def test_registers_on_their_way_must_fit() -> None:
    # 48 KiB held by one warp are 384 registers of each of its threads.
    options: Mapping[str, int | str] = {"tile_m": 128, "tile_n": 256, "dma_warps": 1, "loader": "registers", "slots": 2}
    with pytest.raises(DoesNotFit, match=r"the DMA warps of .* needs 416 registers per thread"):
        lower(workload("gemm"), load_machine("h100_sxm"), schedule="cuda_dma", options={**options, "warpgroups": 2})


def test_options_of_other_schedules_are_refused() -> None:
    with pytest.raises(UserError, match="schedule cuda_dma has dma_warps 4, 1, 2 or 8, not 3"):
        plan("cuda_dma", {"dma_warps": 3})
    with pytest.raises(UserError, match="schedule multistage has dma_warps 1, not 4"):
        plan("multistage", {"dma_warps": 4})


def test_predictions_are_near_the_simulation() -> None:
    errors = prediction_errors(schedule_named("cuda_dma"), load_machine("h100_sxm"), 150)
    assert errors[len(errors) // 2] < 0.02
    assert errors[len(errors) * 9 // 10] < 0.12
