"""How many calls one token of Llama 3.1 8B takes on a GPU and on an RDU, by fusion, and what that is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.point import off_chip_bytes
from experiments.request import Request
from experiments.study import Study, report_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from experiments.compare import Comparison
    from patterns.report import Report

# Operator by operator, with tuned libraries, as one kernel; a call for each layer, and one for all.
MODES = ("operator", "library", "megakernel", "fused", "looped")


def finding(comparison: Comparison) -> str:
    """The counts and their ratios, and what a call is worth that is not made."""
    operator, library, megakernel, fused, looped = (report_of(comparison.reports, mode) for mode in MODES)
    return (
        f"A decode token is {operator.calls:,} kernels operator by operator, {library.calls:,} with tuned libraries,"
        f" {megakernel.calls} if persistent; on the RDU {fused.calls} calls, one a layer, or {looped.calls}, one for"
        f" all layers: {operator.calls / looped.calls:.0f} and {library.calls / looped.calls:.0f} times fewer than the"
        f" first two. Each call saved is worth {saved_us(operator, megakernel):.1f} us on the GPU,"
        f" {saved_us(fused, looped):.1f} us on the RDU."
    )


def details(comparison: Comparison) -> str:
    """Time, energy and bytes of each mode."""
    chosen = [report_of(comparison.reports, mode) for mode in MODES]
    moved = [off_chip_bytes(report) / 1e9 for report in chosen]
    return (
        f"In this order they take {listed(chosen, time_text)} (how many times each machine's own bound)"
        f"{energy(chosen)}; all move {min(moved):.2f} to {max(moved):.2f} GB off chip."
    )


def listed(reports: Sequence[Report], text: Callable[[Report], str]) -> str:
    """What each report has, in order."""
    return ", ".join(text(report) for report in reports)


def time_text(report: Report) -> str:
    """'7.68 ms (1.66x)'."""
    return f"{report.time_s * 1e3:.2f} ms ({report.time_s / report.bound_s:.2f}x)"


def energy(reports: Sequence[Report]) -> str:
    """What each takes in energy, with its range; '' where that is not known of all."""
    known = [report.energy for report in reports if report.energy]
    if len(known) < len(reports):
        return ""
    told = ", ".join(f"{one.typical_j:.2f} J ({one.low_j:.1f} to {one.high_j:.1f})" for one in known)
    return f" and {told}"


def saved_us(many: Report, few: Report) -> float:
    """What each call is worth that the second does not make."""
    return 1e6 * (many.time_s - few.time_s) / (many.calls - few.calls)


STUDY = Study(
    question="How many calls does one token of Llama 3.1 8B take, and what are they worth?",
    request=Request("llama-3.1-8b"),
    finding=finding,
    details=details,
    figures=("fusion", "overlap", "energy"),
)
