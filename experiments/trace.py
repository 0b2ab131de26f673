"""All outcomes of a comparison as one trace for ui.perfetto.dev."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.charting.pair import run_name
from patterns.pipeline.trace import trace_text
from patterns.plural import number_of

if TYPE_CHECKING:
    from experiments.compare import Outcome
    from patterns.report import Report


def trace_json(outcomes: Sequence[Outcome]) -> str:
    """Chrome Trace Event JSON: a process for every outcome, in the order of the outcomes."""
    return trace_text([(process_name(outcome.report), outcome.execution) for outcome in outcomes])


def process_name(report: Report) -> str:
    """The machine, the mode, and how many calls it makes. One member is shown: all do the same."""
    return f"{run_name(report)} ({number_of(report.calls, 'call')})"
