"""The lecture's SM to the cycle: one 128 x 256 output tile, K = 4096 in 64 steps of 64, through the whole lowering.

Figures are total cycles of a run of the lecture's simulator, fill and epilogue included: 1024 cycles of tensor core,
768 of load path and 700 of latency a step, 100 to issue cp.async, 10 for TMA, 256 + 1024 for the epilogue.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gpu_model import load_machine, lower
from gpu_model.price import in_flight_bytes
from gpu_model.schedules.multistage import stages_needed
from patterns.library import workload
from patterns.pipeline.simulate import simulate
from patterns.pipeline.text import text_timeline
from patterns.pipeline.timeline import Timeline

TENSOR_CORE_CYCLES = 65536
# Stages 1 to 6, by latency.
MULTISTAGE = {
    300: (141568, 74228, 74084, 73984, 73884, 73784),
    700: (167168, 85348, 74484, 74384, 74284, 74184),
    1500: (218368, 110948, 75904, 75184, 75084, 74984),
    3000: (314368, 158948, 108904, 82924, 76584, 76484),
}
# By issue cost of cp.async: multistage with 4 stages, warp-specialised with 4 slots and a cp.async producer.
ISSUE = {
    0: (68284, 68284),
    50: (71334, 68334),
    100: (74384, 68384),
    200: (80484, 68484),
    400: (92684, 68684),
    800: (118016, 69084),
    1500: (162816, 99772),
}
HALF = {"load_bytes_per_cycle": "32 B/cycle", "store_bytes_per_cycle": "32 B/cycle"}


def run(schedule: str, options: Mapping[str, int | str], set_to: Mapping[str, str] | None = None) -> Timeline:
    plan = lower(workload("gemm"), load_machine("lecture_sm", set_to), schedule=schedule, options=options)
    timeline = simulate(plan.calls[0].program)
    assert timeline.busy_cycles["tc"] == TENSOR_CORE_CYCLES
    return timeline


def percent(timeline: Timeline) -> float:
    return round(100 * timeline.busy_cycles["tc"] / timeline.total_cycles, 2)


def test_synchronous_loads() -> None:
    timeline = run("synchronous", {})
    assert timeline.total_cycles == 167168
    assert percent(timeline) == 39.2


@pytest.mark.parametrize("latency", MULTISTAGE)
@pytest.mark.parametrize("stages", range(1, 7))
def test_multistage_by_stages_and_latency(latency: int, stages: int) -> None:
    timeline = run("multistage", {"stages": stages}, {"load_latency_cycles": f"{latency} cycles"})
    assert timeline.total_cycles == MULTISTAGE[latency][stages - 1]


@pytest.mark.parametrize("issue", ISSUE)
def test_issue_cost_is_paid_by_whoever_issues(issue: int) -> None:
    set_to = {"cp_async_issue_cycles": f"{issue} cycles"}
    multistage = run("multistage", {"stages": 4}, set_to)
    specialized = run("warp_specialized", {"slots": 4, "loader": "cp_async"}, set_to)
    assert (multistage.total_cycles, specialized.total_cycles) == ISSUE[issue]


def test_warp_specialised_with_tma() -> None:
    timeline = run("warp_specialized", {"slots": 4, "loader": "tma"})
    assert timeline.total_cycles == 68294
    assert percent(timeline) == 95.96


def test_at_half_the_bandwidth_both_wait_for_loads() -> None:
    multistage = run("multistage", {"stages": 4}, HALF)
    specialized = run("warp_specialized", {"slots": 4}, HALF)
    assert (multistage.total_cycles, specialized.total_cycles) == (102432, 102342)
    assert (percent(multistage), percent(specialized)) == (63.98, 64.04)


@pytest.mark.parametrize(
    ("schedule", "options", "expected"),
    [
        ("multistage", {"stages": 3}, 87.99),
        ("multistage", {"stages": 4}, 88.1),
        ("warp_specialized", {"slots": 4, "loader": "cp_async"}, 95.84),
    ],
)
def test_utilisation(schedule: str, options: Mapping[str, int | str], expected: float) -> None:
    assert percent(run(schedule, options)) == expected


# One persistent consumer computes 8 tiles one after another, with a producer that never stops: total cycles by K.
@pytest.mark.parametrize(("k", "cycles"), [(256, 44486), (512, 77254), (1024, 142790), (2048, 273862), (4096, 536006)])
def test_eight_tiles_with_one_consumer(k: int, cycles: int) -> None:
    graph = workload("gemm", overrides={"m": "1024", "k": str(k)})
    plan = lower(graph, load_machine("lecture_sm"), schedule="warp_specialized", options={"slots": 4})
    assert simulate(plan.calls[0].program).total_cycles == cycles


def test_auto_takes_the_fastest_of_the_lecture() -> None:
    plan = lower(workload("gemm"), load_machine("lecture_sm"))
    assert plan.calls[0].schedule.startswith("warp_specialized")
    assert simulate(plan.calls[0].program).total_cycles == 68294


@pytest.mark.parametrize("schedule", ["multistage", "warp_specialized"])
def test_time_lines_show_the_tensor_core_and_the_load_path(schedule: str) -> None:
    timeline = run(schedule, {"slots": 4})
    assert set(text_timeline(timeline, "tc", 12_000)) == {"M", "·"}
    assert set(text_timeline(timeline, "load", 12_000)) == {"L", "·"}


def test_a_load_and_its_latency_need_this_many_bytes_in_flight() -> None:
    assert in_flight_bytes(64, 700) == 44_800


def test_stages_needed_is_the_lectures_formula() -> None:
    # S >= 1 + ceil((100 + 768 + 1500) / (1024 + 100)) = 1 + 3
    assert stages_needed(100, 768, 1500, 1024) == 4
    # An exact multiple needs no further stage: 1 + 1124 / 1124.
    assert stages_needed(100, 524, 500, 1024) == 2


def test_a_plan_that_no_h100_holds_is_only_warned_about() -> None:
    machine = load_machine("lecture_sm")
    for options in ({"stages": 5}, {"stages": 6}):
        plan = lower(workload("gemm"), machine, schedule="multistage", options=options)
        assert "at most 4 fit" in plan.warnings[0]
    plan = lower(workload("gemm"), machine, schedule="warp_specialized", options={"slots": 4, "warpgroups": 1})
    assert "needs 288 registers per thread, there is 255" in plan.warnings[0]
    assert lower(workload("gemm"), machine, schedule="multistage", options={"stages": 4}).warnings == ()
