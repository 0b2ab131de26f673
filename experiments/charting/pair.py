"""The two runs that a picture sets beside each other: one of each machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patterns.plural import number_of

if TYPE_CHECKING:
    from experiments.compare import Comparison, Outcome
    from patterns.report import Report


def pair(comparison: Comparison) -> tuple[Outcome, ...]:
    """Of each machine the mode of the headline, else that with the fewest calls, in the comparison's order."""
    found: dict[str, Outcome] = {}
    for outcome in comparison.outcomes:
        chosen = found.setdefault(outcome.report.family, outcome)
        if (outcome.headline, -outcome.report.calls) > (chosen.headline, -chosen.report.calls):
            found[outcome.report.family] = outcome
    return tuple(found.values())


def run_name(report: Report) -> str:
    """'h100_sxm operator', '8 x h100_sxm operator'."""
    members = f"{report.members} x " if report.members > 1 else ""
    return f"{members}{report.machine} {report.mode}"


def run_title(report: Report) -> str:
    """A run's name and how many calls it makes."""
    return f"{run_name(report)}: {number_of(report.calls, 'call')}"
