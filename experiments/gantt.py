"""One call over time as lanes of bars: which call is worth drawing, how much of it, and in which lanes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from patterns.pipeline.timeline import Span, real_spans

if TYPE_CHECKING:
    from experiments.compare import Outcome
    from patterns.pipeline.program import UnitClass
    from patterns.plan import Call

SPECIALIZED = "warp_specialized"
MOST_LANES = 18
SPANS_A_LANE = 14


@dataclass(frozen=True)
class Bar:
    """A unit held by a role, in cycles of the call."""

    lane: str
    label: str
    unit_class: UnitClass
    start_cycle: int
    end_cycle: int


@dataclass(frozen=True)
class Gantt:
    """The first `until_cycle` cycles of a call. Lanes from the top down, see lane_names."""

    machine: str
    mode: str
    call: str
    clock_hz: int
    until_cycle: int
    total_cycles: int
    lanes: tuple[str, ...]
    bars: tuple[Bar, ...]
    lanes_left_out: int


def gpu_example(outcomes: Iterable[Outcome]) -> tuple[Outcome, Call] | None:
    """The warp-specialised call of the GPU with the most time in all its launches, else any call with the most."""
    calls = [
        (outcome, call)
        for outcome in outcomes
        if outcome.report.family == "gpu"
        for call in outcome.execution.plan.calls
    ]
    return max(calls, key=lambda pair: (pair[1].schedule.startswith(SPECIALIZED), duration_ps(*pair)), default=None)


def rdu_example(outcomes: Iterable[Outcome]) -> tuple[Outcome, Call] | None:
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


def gantt_of(outcome: Outcome, call: Call) -> Gantt:
    """The first periods of a call, in its busiest lanes, which stand in the order of their first bar."""
    timeline = outcome.execution.call_named[call.name].timeline
    classes = {unit.name: unit.unit_class for unit in call.program.units}
    lanes = lane_names(timeline.spans)
    most = SPANS_A_LANE * len(set(lanes.values()))
    spans = list(islice(real_spans(timeline), most + 1))
    until = spans[-1].start if len(spans) > most else timeline.total_cycles
    busy: Counter[str] = Counter()
    for span in spans:
        busy[lanes[span.role, span.unit]] += min(span.end, until) - span.start
    kept = {lane for lane, _ in busy.most_common(MOST_LANES)}
    bars = tuple(
        Bar(lanes[span.role, span.unit], span.label, classes[span.unit], span.start, min(span.end, until))
        for span in spans
        if lanes[span.role, span.unit] in kept and span.start < until
    )
    return Gantt(
        machine=outcome.report.machine,
        mode=outcome.report.mode,
        call=call.name,
        clock_hz=call.clock_hz,
        until_cycle=until,
        total_cycles=timeline.total_cycles,
        lanes=tuple(dict.fromkeys(bar.lane for bar in bars)),
        bars=bars,
        lanes_left_out=len(busy) - len(kept),
    )


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
