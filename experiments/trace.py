"""All outcomes of a comparison as one trace for ui.perfetto.dev."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from patterns.pipeline.trace import trace_text

if TYPE_CHECKING:
    from experiments.compare import Outcome
    from patterns.report import Report


def trace_json(outcomes: Sequence[Outcome]) -> str:
    """Chrome Trace Event JSON: a process for every outcome, in the order of the outcomes."""
    return trace_text([(process_name(outcome.report), outcome.execution) for outcome in outcomes])


def process_name(report: Report) -> str:
    """The machine, the mode, and how many calls it makes. One member is shown: all do the same."""
    members = f"{report.members} x " if report.members > 1 else ""
    calls = "1 call" if report.calls == 1 else f"{report.calls:,} calls"
    return f"{members}{report.machine} {report.mode} ({calls})"
