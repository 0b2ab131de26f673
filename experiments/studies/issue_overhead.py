"""What issuing loads costs: paid by the computing warps of a multistage pipeline, and by a producer warp."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from experiments.plot.lines import Lines
from experiments.survey import Record, Survey

if TYPE_CHECKING:
    from gpu_model.lecture.gemm import LectureRun

MULTISTAGE, PRODUCER = "multistage", "warp-specialized"
# The lecture's 0, 50, 100, 200, 400, 800 and 1500 are among them; 10 is what it assumes of TMA.
ISSUES = (0, 10, 25, 50, 100, 150, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1024, 1100, 1200, 1300, 1400, 1500)
COPIES_ISSUE, DEAR_ISSUE = 100, 800


def cases() -> Iterator[LectureRun]:
    """A tile of 128 x 256 with K = 4096 and 4 slots, by what issuing the load of a step costs."""
    from gpu_model.lecture.gemm import SLOTS, LectureRun

    for way, schedule in ((MULTISTAGE, "multistage"), (PRODUCER, "warp_specialized")):
        for issue in ISSUES:
            set_to = (("cp_async_issue_cycles", f"{issue} cycles"),)
            yield LectureRun(way, schedule, (*SLOTS, ("loader", "cp_async")), set_to)


def record(run: LectureRun) -> Record:
    """The share of the time in which the tensor core computes, and what the formula leaves of it."""
    from gpu_model.lecture.estimates import multistage_bound_percent, producer_bound_percent
    from gpu_model.lecture.parts import step_parts

    parts = step_parts(run)
    bound = multistage_bound_percent if run.schedule == "multistage" else producer_bound_percent
    return {
        "way": run.id,
        "issue_cycles": parts.issue_cycles,
        "mma_cycles": parts.mma_cycles,
        "total_cycles": run.total_cycles,
        "tensor_core_percent": run.tensor_core_percent,
        "bound_percent": bound(parts.mma_cycles, parts.issue_cycles),
    }


def finding(rows: Sequence[Record]) -> str:
    """Where both are alike, what each loses, and until where a producer hides what it does."""
    at = {(row["way"], row["issue_cycles"]): row["tensor_core_percent"] for row in rows}
    free = at[PRODUCER, 0]
    hidden = max(issue for way, issue in at if way == PRODUCER and at[way, issue] > free - 2)
    beyond = max(issue for _, issue in at)
    apart = at[PRODUCER, 0] - at[MULTISTAGE, 0]
    alike = "are alike" if abs(apart) < 0.05 else f"differ by {apart:.1f} points"
    lost = {(way, issue): at[way, 0] - percent for (way, issue), percent in at.items()}
    return (
        f"Where issuing is free the two {alike} ({free:.1f} %). At {COPIES_ISSUE} cycles a step (cp.async) the"
        f" multistage pipeline loses {lost[MULTISTAGE, COPIES_ISSUE]:.1f} points, a producer"
        f" {lost[PRODUCER, COPIES_ISSUE]:.1f}; at {DEAR_ISSUE} {lost[MULTISTAGE, DEAR_ISSUE]:.1f} and"
        f" {lost[PRODUCER, DEAR_ISSUE]:.1f}. A producer hides up to {hidden:,} of a step's {rows[0]['mma_cycles']:,}"
        f" cycles; at {beyond:,} {at[PRODUCER, beyond]:.1f} % are left."
    )


STUDY = Survey(
    question="Who should pay for issuing loads, and up to what cost does a producer warp hide it?",
    cases=cases,
    record=record,
    finding=finding,
    figures=(
        Lines(
            "tensor_core_by_issue",
            x="issue_cycles",
            y="tensor_core_percent",
            by="way",
            bound="bound_percent",
            title="Tensor core busy, by what issuing a step's load costs; dashed: the formula",
            x_label="Cycles to issue the load of a step",
            y_label="Tensor core busy [%]",
        ),
    ),
    keys=2,
)
