"""How many calls one token of Llama 3.1 8B takes on a GPU and on an RDU, and what that is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.request import Request
from experiments.study import Study, report_of

if TYPE_CHECKING:
    from experiments.compare import Comparison


def finding(comparison: Comparison) -> str:
    """The counts, the ratio, and the times beside it."""
    operator, library, looped = (report_of(comparison.reports, mode) for mode in ("operator", "library", "looped"))
    above = ", ".join(f"{r.time_s * 1e3:.2f} ms ({r.time_s / r.bound_s:.2f}x)" for r in (operator, library, looped))
    return (
        f"One decode token is {operator.calls:,} kernel calls operator by operator, {library.calls:,} with tuned"
        f" libraries, and {looped.calls} on the RDU: {operator.calls / looped.calls:.0f} and"
        f" {library.calls / looped.calls:.0f} times fewer. The times, and how many times each machine's own bound they"
        f" are: {above}."
    )


STUDY = Study(
    question="How many calls does one token of Llama 3.1 8B take, and what are they worth?",
    request=Request("llama-3.1-8b"),
    finding=finding,
)
