"""The call of each machine that shows best what overlaps with what, and the lanes that it is drawn in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from experiments.compare import Comparison, Outcome
    from patterns.pipeline.timeline import Span
    from patterns.plan import Call

# Schedules whose roles show what overlaps: some warps load what others compute with.
SPECIALIZED = ("warp_specialized", "pingpong", "cooperative", "attention")

Example = tuple["Outcome", "Call"]


def examples(comparison: Comparison) -> tuple[Example, ...]:
    """A call of the GPU, and one of the RDU."""
    return tuple(one for one in (gpu_example(comparison.outcomes), rdu_example(comparison.outcomes)) if one)


def gpu_example(outcomes: Iterable[Outcome]) -> Example | None:
    """Of the GPU's fastest policy that has a warp-specialised call that with the most time in all its launches.

    Of the fastest policy without any, the call with the most time.
    """
    calls = [
        (outcome, call)
        for outcome in outcomes
        if outcome.report.family == "gpu"
        for call in outcome.execution.plan.calls
    ]
    return max(
        calls,
        key=lambda pair: (
            pair[1].schedule.startswith(SPECIALIZED),
            -pair[0].execution.schedule.total_cycles,
            duration_ps(*pair),
        ),
        default=None,
    )


def rdu_example(outcomes: Iterable[Outcome]) -> Example | None:
    """The call with the most time of the RDU's mode with the fewest calls."""
    most_fused = min(
        (o for o in outcomes if o.report.family == "rdu"), key=lambda o: (o.report.calls, not o.headline), default=None
    )
    if most_fused is None:
        return None
    calls = [(most_fused, call) for call in most_fused.execution.plan.calls]
    return max(calls, key=lambda pair: duration_ps(*pair), default=None)


def duration_ps(outcome: Outcome, call: Call) -> int:
    """How long all launches of a call take."""
    return outcome.execution.call_named[call.name].duration_ps * call.count


def lane_names(spans: Iterable[Span]) -> Mapping[tuple[str, str], str]:
    """The lane of every role on every unit that it uses: 'role: unit', or just the unit.

    Just the unit where its name says whose it is, and where more than two roles share it.
    """
    roles: dict[str, list[str]] = {}
    for role, unit in dict.fromkeys((span.role, span.unit) for span in spans):
        roles.setdefault(unit, []).append(role)
    return {
        (role, unit): f"{unit}: {len(sharing)} streams"
        if len(sharing) > 2
        else unit
        if role in unit
        else f"{role}: {unit}"
        for unit, sharing in roles.items()
        for role in sharing
    }
