"""A producer that loads ahead of consumers: a lecture's matrix product with 1 to 4 stages, beside waiting for each.

The tiles are those of a ThunderKittens kernel in a lecture (Stanford CS149, fall 2025, lecture 11): 128 x 256 of the
result on two warpgroups, steps of 64, four input stages.
"""

from __future__ import annotations

from collections.abc import Sequence

from experiments.plot.lines import Lines
from experiments.point import Point, run_point
from experiments.survey import Record, Survey

GPU, SIZE, DTYPE_FLOPS = "h100_sxm", 8192, 2
TILE = (("tile_m", "128"), ("tile_n", "256"), ("tile_k", "64"))
STAGES = (1, 2, 3, 4)
# The lecture's number of stages, and the schedule that its kernel has.
LECTURE_STAGES, LECTURE = 4, "cooperative"
SCHEDULES = ("multistage", "warp_specialized", LECTURE)


def cases() -> list[Point]:
    """Waiting for every load, then every schedule with every number of stages."""
    return [of("synchronous", None), *(of(schedule, stages) for schedule in SCHEDULES for stages in STAGES)]


def of(schedule: str, stages: int | None) -> Point:
    """The product by a schedule."""
    options = TILE if stages is None else (*TILE, ("slots", str(stages)))
    sizes = tuple((name, str(SIZE)) for name in "mnk")
    return Point("gemm", GPU, "library", schedule=schedule, options=options, settings=sizes)


def record(point: Point) -> Record:
    """One run: its time, its part of the dense peak, and of which time the tensor cores are busy."""
    outcome = run_point(point)
    plan, report = outcome.execution.plan, outcome.report
    peak = plan.rates.peak_by_resource["matrix_flops"]
    return {
        "schedule": point.schedule,
        "stages": int(dict(point.options).get("slots", "1")),
        "time_us": 1e6 * report.time_s,
        "percent_of_peak": 100 * DTYPE_FLOPS * SIZE**3 / report.time_s / peak,
        "tensor_cores_busy_percent": 100 * dict(report.utilization)["matrix"],
        "bound_us": 1e6 * report.bound_s,
    }


def finding(rows: Sequence[Record]) -> str:
    """What waiting costs, and how many stages are enough."""
    waits = next(row for row in rows if row["schedule"] == "synchronous")
    own = [row for row in rows if row["schedule"] == LECTURE]
    best = max(own, key=lambda row: row["percent_of_peak"])
    enough = min(row["stages"] for row in own if row["percent_of_peak"] > best["percent_of_peak"] - 1)
    one = next(row for row in own if row["stages"] == 1)
    more = "more add nothing" if enough < LECTURE_STAGES else "fewer are not enough"
    return (
        f"A product of {SIZE:,} cubed on one {GPU} reaches {waits['percent_of_peak']:.1f} % of the dense peak where"
        f" each load is waited for, {one['percent_of_peak']:.1f} % with a producer of one stage: loads that do not wait"
        f" gain little if the next step does. {enough} of the lecture's {LECTURE_STAGES} stages"
        f" reach {best['percent_of_peak']:.1f} % ({best['time_us']:,.0f} us), and {more}."
    )


def details(rows: Sequence[Record]) -> str:
    """What the rest is lost to, and what other schedules reach."""
    best = max((row for row in rows if row["schedule"] == LECTURE), key=lambda row: row["percent_of_peak"])
    others = ", ".join(
        f"{max(row['percent_of_peak'] for row in rows if row['schedule'] == name):.1f} % {name}"
        for name in SCHEDULES
        if name != LECTURE
    )
    return (
        f"At best tensor cores are busy {best['tensor_cores_busy_percent']:.0f} % of the time; what is missing to the"
        f" peak is their clock at work. The best of the other schedules: {others}."
    )


STUDY = Survey(
    question="What does a producer that loads ahead gain a matrix product, and how many stages does it need?",
    cases=cases,
    record=record,
    finding=finding,
    details=details,
    figures=(
        Lines(
            "peak_by_stages",
            x="stages",
            y="percent_of_peak",
            by="schedule",
            title="Part of the H100's dense peak by number of input stages",
            y_label="% of the dense peak",
        ),
    ),
    keys=2,
)
