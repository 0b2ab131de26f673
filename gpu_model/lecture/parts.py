"""What one step of a lecture's GEMM is made of, read off its simulated run."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_model.lecture.gemm import TENSOR_CORE, LectureRun
from patterns.pipeline.timeline import Span


@dataclass(frozen=True)
class StepParts:
    """Cycles of one step: issuing its load, moving it, until it can be used, and the matrix product; and its bytes."""

    issue_cycles: int
    load_cycles: int
    latency_cycles: int
    mma_cycles: int
    load_bytes: int


def step_parts(run: LectureRun) -> StepParts:
    """The parts of a run's first step; all steps are alike."""
    first: dict[str, Span] = {}
    for span in run.timeline.spans:
        first.setdefault(span.unit, span)
    load = first["load"]
    loads = run.timeline.busy_cycles["load"] // _held(load)
    loaded = dict(run.plan.calls[0].work)["l2_bytes"]
    issue = _held(first["issue"]) if "issue" in first else 0
    return StepParts(issue, _held(load), load.usable - load.end, _held(first[TENSOR_CORE]), loaded // loads)


def _held(span: Span) -> int:
    return span.end - span.start
