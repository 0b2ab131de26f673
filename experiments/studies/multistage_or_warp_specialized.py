"""A multistage pipeline against warp specialisation, by the depth of the ring."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from experiments.plot.lines import Lines
from experiments.plot.spans import Run, Spans
from experiments.survey import Record, Survey
from patterns.plural import number_of

if TYPE_CHECKING:
    from gpu_model.lecture.gemm import LectureRun

MULTISTAGE, COPIES, TMA = "multistage, cp.async", "warp-specialized, cp.async", "warp-specialized, TMA"
WAYS = {
    MULTISTAGE: ("multistage", "cp_async"),
    COPIES: ("warp_specialized", "cp_async"),
    TMA: ("warp_specialized", "tma"),
}
# The depth that the lecture compares at.
DEPTH = 4


def cases() -> Iterator[LectureRun]:
    """A tile of 128 x 256 with K = 4096, every way with 1 to 6 slots."""
    from gpu_model.lecture.gemm import STAGES, LectureRun

    for way, (schedule, loader) in WAYS.items():
        for slots in STAGES:
            yield LectureRun(way, schedule, (("slots", str(slots)), ("loader", loader)))


def record(run: LectureRun) -> Record:
    """Cycles, and the share in which the tensor core computes, with what issuing leaves of it."""
    from gpu_model.lecture.estimates import multistage_bound_percent, producer_bound_percent
    from gpu_model.lecture.parts import step_parts

    parts = step_parts(run)
    bound = multistage_bound_percent if run.schedule == "multistage" else producer_bound_percent
    return {
        "way": run.id,
        "slots": int(dict(run.options)["slots"]),
        "total_cycles": run.total_cycles,
        "tensor_core_percent": run.tensor_core_percent,
        "bound_percent": bound(parts.mma_cycles, parts.issue_cycles),
    }


def finding(rows: Sequence[Record]) -> str:
    """What each reaches at the lecture's depth, and who is ahead at which depth."""
    at = {(row["way"], row["slots"]): row for row in rows}
    deep = {way: at[way, DEPTH]["tensor_core_percent"] for way in WAYS}
    gain = {
        slots: at[TMA, slots]["tensor_core_percent"] - at[MULTISTAGE, slots]["tensor_core_percent"]
        for slots in sorted({row["slots"] for row in rows})
    }
    most = max(gain, key=lambda slots: gain[slots])
    behind = [slots for slots, points in gain.items() if points < 0]
    never = "at no depth behind" if not behind else f"behind with {', '.join(map(str, behind))}"
    return (
        f"With {number_of(DEPTH, 'slot')} the tensor core computes {deep[MULTISTAGE]:.1f} % of the time in the"
        f" multistage pipeline and {deep[TMA]:.1f} % beside a producer warp, {deep[COPIES]:.1f} % if that issues"
        f" cp.async too. The producer is {never}, and most ahead with {number_of(most, 'slot')}, by"
        f" {gain[most]:.1f} points."
    )


def details(rows: Sequence[Record]) -> str:
    """What is left."""
    bound = next(row["bound_percent"] for row in rows if (row["way"], row["slots"]) == (TMA, DEPTH))
    return f"What the producer lacks of {bound:.0f} % is the first load and the end of the tile."


def runs() -> list[Run]:
    """A pipeline and a producer warp at the lecture's depth."""
    shown = [run for run in cases() if run.id != COPIES and dict(run.options)["slots"] == str(DEPTH)]
    return [(run.id, run.plan.calls[0].program, run.timeline, None) for run in shown]


STUDY = Survey(
    question="What does a producer warp bring over a multistage pipeline with a ring of the same depth?",
    cases=cases,
    record=record,
    finding=finding,
    details=details,
    figures=(
        Lines(
            "tensor_core_by_slots",
            x="slots",
            y="tensor_core_percent",
            by="way",
            bound="bound_percent",
            title="Tensor core busy, by the depth of the ring; dashed: what issuing leaves",
            x_label="Slots of the ring",
            y_label="Tensor core busy [%]",
        ),
        Spans("first_steps", runs, title=f"The first 12,000 cycles with {DEPTH} slots", until=12_000),
    ),
    keys=2,
)
