"""From a Plan to a Report: a plan added up by hand, random ones, and runs that cannot be."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from patterns.count import compulsory, graph_demand
from patterns.pipeline.program import UNIT_CLASSES, Program, Role, Unit
from patterns.pipeline.script import Run
from patterns.plan import Call, LaunchCost, Plan, Rates, Tiling
from patterns.report import OVERLAP_PARTS, WATERFALL_PARTS, CallCount, Report
from patterns.run import run_plan
from patterns.summarize import summarize
from tests.pipeline.view_programs import random_program
from tests.report_plans import GRAPH, HEAD_CALL, LAYER, LAYER_CALL, PLAN, RATES, with_calls


def nonzero(parts: tuple[tuple[str, int], ...]) -> dict[str, int]:
    return {name: amount for name, amount in parts if amount}


def holds(report: Report) -> None:
    """The laws of every report."""
    assert tuple(name for name, _ in report.overlap_ps) == OVERLAP_PARTS
    assert tuple(name for name, _ in report.waterfall_ps) == WATERFALL_PARTS
    for parts in (report.overlap_ps, report.waterfall_ps):
        assert sum(amount for _, amount in parts) == report.time_ps
        assert min(amount for _, amount in parts) >= 0
    assert report.bound_ps <= report.time_ps
    assert all(0 < share <= 1 for _, share in report.utilization)
    assert sum(count.total for count in report.calls_by_block) == report.calls


def test_a_plan_that_a_person_can_add_up() -> None:
    report = summarize(run_plan(PLAN))
    holds(report)
    # A layer: load 160, latency 20, mma 300, store 10 = 490; before the first a launch, before every other call a gap.
    assert report.time_ps == 100 + 4 * 490 + 4 * 7 + 130
    assert graph_demand(GRAPH).matrix_flops == 1024
    assert compulsory(GRAPH).total_bytes == 4 * 128 + 32 + 32
    assert (report.bound, report.bound_ps) == ("matrix_flops", 1024)
    assert (report.calls, report.calls_per_layer) == (5, 1)
    assert report.calls_by_block == (CallCount("layers", 4, 1, 4), CallCount("head", 1, 1, 1))
    assert report.bytes == (("hbm", 2 * 740), ("l2", 2 * 800), ("onchip", 0), ("ddr", 0), ("network", 2 * 5))
    assert nonzero(report.overlap_ps) == {
        "exposed_matrix": 1200,
        "exposed_memory": 4 * 170 + 130,
        "in_flight": 80,
        "synchronisation": 28,
        "launch": 100,
    }
    assert (report.machine, report.family, report.mode, report.members) == ("by hand", "gpu", "library", 2)
    assert report.warnings == ("small",)


def test_the_waterfall_of_that_plan() -> None:
    achievable = Fraction(4 * 280) / Fraction(0.95) + Fraction(100) / Fraction(0.8)
    assert nonzero(summarize(run_plan(PLAN)).waterfall_ps) == {
        "speed_of_light": 1024,
        # Each layer issues 280 FLOP instead of 256.
        "extra_work": 96,
        # The head's bytes are not hidden behind the layers' FLOPs.
        "separate_calls": 100,
        "below_peak": int(achievable) - 1220,
        "imbalance": 4 * 300 + 130 - int(achievable),
        "fill": 4 * 180,
        "drain": 4 * 10,
        "synchronisation": 28,
        "launch": 100,
    }


def test_utilization_of_that_plan() -> None:
    report = summarize(run_plan(PLAN))
    shares = dict(report.utilization)
    assert shares["matrix_flops"] == pytest.approx(1120 / report.time_ps)
    assert shares["hbm_bytes"] == pytest.approx(740 / report.time_ps)
    assert shares["matrix"] == pytest.approx(1200 / report.time_ps)
    # Two memory units: loads on one, stores on the other.
    assert shares["memory"] == pytest.approx((4 * 170 + 130) / 2 / report.time_ps)


def test_equal_programs_are_simulated_once() -> None:
    twin = replace(LAYER_CALL, name="twin", program=replace(LAYER, name="another name"))
    execution = run_plan(with_calls(LAYER_CALL, twin, HEAD_CALL))
    assert execution.call_named["layer"].timeline is execution.call_named["twin"].timeline
    assert execution.call_named["layer"].timeline is not execution.call_named["head"].timeline


def test_a_call_is_rounded_up_once_with_its_own_clock() -> None:
    execution = run_plan(with_calls(replace(LAYER_CALL, clock_hz=1_830_000_000, work=()), HEAD_CALL))
    # 490 cycles of 546.448... ps.
    assert execution.call_named["layer"].duration_ps == 267_760
    assert execution.call_named["head"].duration_ps == 130


@pytest.mark.parametrize(
    ("count", "iterations", "expected"),
    [
        (4, 1, CallCount("layers", 4, 2, 8)),
        # A looped block: one launch of each for all four layers; then two launches of two layers each.
        (1, 4, CallCount("layers", 4, 2, 2)),
        (2, 2, CallCount("layers", 4, 2, 4)),
    ],
)
def test_calls_of_a_block(count: int, iterations: int, expected: CallCount) -> None:
    first = replace(LAYER_CALL, count=count, iterations=iterations, work=())
    report = summarize(run_plan(with_calls(replace(first, name="a", clock_hz=10**11), replace(first, name="b"))))
    assert report.calls_by_block == (expected,)
    assert report.calls_per_layer == 2


def test_nothing_is_per_layer_where_nothing_repeats() -> None:
    slow = replace(LAYER_CALL, count=1, clock_hz=10**11)
    assert summarize(run_plan(with_calls(slow, HEAD_CALL))).calls_per_layer is None


def random_call(draw: Random, number: int, group: int, count: int) -> Call:
    program = random_program(draw.randint(0, 10**6))
    clock_hz = draw.choice((10**9, 1_830_000_000, 1_755_000_001))
    collective = draw.random() < 0.2
    return Call(f"c{number}", f"b{group}", (), Tiling(), program, clock_hz, count, collective=collective)


@pytest.mark.parametrize("seed", range(40))
def test_the_laws_hold_for_random_plans(seed: int) -> None:
    draw = Random(seed)
    calls: list[Call] = []
    for group in range(draw.randint(1, 3)):
        count = draw.choice((1, 3, 32))
        calls += [random_call(draw, len(calls) + i, group, count) for i in range(draw.randint(1, 3))]
    cost = LaunchCost(
        "m", draw.choice((0, 9000)), draw.choice((0, 4001)), draw.choice((0, 977)), draw.choice((0, 1, 64))
    )
    slow = Rates((("matrix_flops", 1e13), ("hbm_bytes", 1e13)), (("matrix_flops", 9e12),))
    report = summarize(run_plan(replace(with_calls(*calls), launch=cost, rates=slow)))
    holds(report)
    assert {name for name, _ in report.utilization} <= set(UNIT_CLASSES)


def test_a_call_that_its_launch_limits_is_not_called_imbalanced() -> None:
    units = (Unit("ramp", "launch"), Unit("mem", "memory"))
    short = Program("short", units, (), (Role("warp", (Run("ramp", 500, "ramp"), Run("mem", 100, "load"))),))
    report = summarize(run_plan(with_calls(LAYER_CALL, replace(HEAD_CALL, program=short))))
    holds(report)
    parts = dict(report.waterfall_ps)
    # 100 bytes need 125 ps at the achievable rate: that much of the ramp's 500 ps counts as their work.
    achievable = int(Fraction(4 * 280) / Fraction(0.95) + Fraction(100) / Fraction(0.8))
    assert parts["imbalance"] == 4 * 300 + 125 - achievable
    assert parts["launch"] == 100 + 500 - 125


def test_work_that_takes_longer_than_the_limiting_unit_leaves_no_negative_step() -> None:
    slow = Rates(RATES.peak, (("matrix_flops", 0.6e12), ("hbm_bytes", 0.4e12)))
    report = summarize(run_plan(replace(PLAN, rates=slow)))
    holds(report)
    assert dict(report.waterfall_ps)["imbalance"] == 0


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (replace(PLAN, rates=Rates((("matrix_flops", 1e11),), ())), "below the bound of 10240 ps by matrix_flops"),
        (with_calls(replace(LAYER_CALL, work=(("hbm_bytes", 491),))), "call layer exceeds the peak rate of hbm_bytes"),
    ],
)
def test_a_run_that_is_faster_than_the_datasheet_is_a_bug(plan: Plan, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        summarize(run_plan(plan))
