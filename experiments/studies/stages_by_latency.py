"""How many stages hide a load of what latency: by simulation, by the lecture's formula, and by one that counts less."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from experiments.charting.reshape import Tall
from experiments.plot.lines import Lines
from experiments.survey import Record, Survey
from patterns.plural import number_of

# The lecture's latencies are among them.
LATENCIES = tuple(range(100, 3001, 100))
STAGES = range(1, 8)
# The lecture's measure: so many percentage points from the best.
POINTS = 1.0


@dataclass(frozen=True)
class Latency:
    """A latency of the load path, and the stages that are tried."""

    load_latency_cycles: int
    stages: tuple[int, ...]


def cases() -> Iterator[Latency]:
    """Every latency with all stages."""
    return (Latency(latency, tuple(STAGES)) for latency in LATENCIES)


def record(case: Latency) -> Record:
    """Stages by simulation and by formula, and what each number of stages reaches."""
    from gpu_model.lecture.estimates import stages_needed, stages_within
    from gpu_model.lecture.gemm import LectureRun
    from gpu_model.lecture.parts import step_parts

    latency = case.load_latency_cycles
    set_to = (("load_latency_cycles", f"{latency} cycles"),)
    runs = {n: LectureRun(f"{n} stages", "multistage", (("slots", str(n)),), set_to) for n in case.stages}
    percent = {stages: run.tensor_core_percent for stages, run in runs.items()}
    parts = step_parts(runs[case.stages[0]])
    issue, transfer, mma = parts.issue_cycles, parts.load_cycles, parts.mma_cycles
    return {
        "latency_cycles": latency,
        "stages_simulated": stages_within(percent, POINTS),
        "stages_by_the_formula": stages_needed(issue, transfer, latency, mma),
        # A step issues the next load before it waits for its own: that issue is over by then.
        "stages_without_the_issue": 1 - -(transfer + latency) // (mma + issue),
        **{f"percent_with_{stages}": percent[stages] for stages in case.stages},
    }


def finding(rows: Sequence[Record]) -> str:
    """How many stages are needed up to which latency, and how often the formula says so."""
    right = sum(row["stages_by_the_formula"] == row["stages_simulated"] for row in rows)
    without = sum(row["stages_without_the_issue"] == row["stages_simulated"] for row in rows)
    return (
        f"{_needed(rows)} The lecture's formula is right at {right} of {len(rows)} latencies, and at {without} without"
        " the issue in its numerator."
    )


def details(rows: Sequence[Record]) -> str:
    """Where the formula asks for what a run needs, where for more, and what in it is too much."""
    return (
        f"The lecture's formula, 1 + ceil((issue + transfer + latency) / (MMA + issue)),"
        f" {_agreement(rows, 'stages_by_the_formula')}. Without the issue in its numerator it"
        f" {_agreement(rows, 'stages_without_the_issue')}: a step issues the next load before it waits for its own, so"
        " that an issue more has passed."
    )


def _needed(rows: Sequence[Record]) -> str:
    """'Within 1 point of the best: 2 stages up to a latency of 300 cycles, 3 up to ...'"""
    told = []
    for stages, group in groupby(rows, key=lambda row: row["stages_simulated"]):
        told.append(f"{stages} up to {max(row['latency_cycles'] for row in group):,} cycles")
    return f"Stages that come within {POINTS:.0f} point of the best, by latency: {', '.join(told)}."


def _agreement(rows: Sequence[Record], formula: str) -> str:
    """How often a formula is what a run needs, and where it is not."""
    more = [row["latency_cycles"] for row in rows if row[formula] > row["stages_simulated"]]
    fewer = [row["latency_cycles"] for row in rows if row[formula] < row["stages_simulated"]]
    equal = len(rows) - len(more) - len(fewer)
    told = f"gives what a run needs at {equal} of {len(rows)} latencies"
    for what, where in (("more", more), ("fewer", fewer)):
        if where:
            told += f", {what} at {', '.join(f'{one:,}' for one in where)} cycles"
    return told


STUDY = Survey(
    question="How many stages does a pipeline need by the latency of its loads, and does the lecture's formula say so?",
    cases=cases,
    record=record,
    finding=finding,
    details=details,
    figures=(
        Tall(
            Lines(
                "stages",
                x="latency_cycles",
                y="stages",
                by="counted",
                title="Stages that hide a load, by its latency",
                x_label="Latency of the load path [cycles]",
                y_label="Stages",
            ),
            (
                ("stages_simulated", "simulated"),
                ("stages_by_the_formula", "the lecture's formula"),
                ("stages_without_the_issue", "without the issue"),
            ),
            "counted",
            "stages",
        ),
        Tall(
            Lines(
                "tensor_core_by_latency",
                x="latency_cycles",
                y="tensor_core_percent",
                by="stages",
                title="Tensor core busy, by the latency of loads",
                x_label="Latency of the load path [cycles]",
                y_label="Tensor core busy [%]",
            ),
            tuple((f"percent_with_{stages}", number_of(stages, "stage")) for stages in STAGES),
            "stages",
            "tensor_core_percent",
        ),
    ),
)
