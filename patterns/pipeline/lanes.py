"""A run as slices on lanes, in real time: what a trace shows, whatever its format.

From the top: blocks, calls on the device and what lies between them, launches by the host; then what happens inside
each call, unit by unit, at the place where it is launched first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice, pairwise
from typing import Any, NamedTuple, Protocol

from patterns.pipeline.calls import DEVICE, GAP, HOST, LINK
from patterns.pipeline.program import Program, Unit
from patterns.pipeline.timeline import Span, Timeline, real_spans, segments

BLOCKS = "blocks"
CALLS = "device: calls"
COLLECTIVES = "link: collectives"
BETWEEN = "device: between calls"
LAUNCHES = "host: launches"
INSIDE = "inside: first launches"
RUNNING = (DEVICE, LINK)
CALL_LANES = (BLOCKS, CALLS, COLLECTIVES, BETWEEN, LAUNCHES, INSIDE)


class TracedCall(Protocol):
    """A distinct call of a plan."""

    @property
    def name(self) -> str: ...
    @property
    def block(self) -> str: ...
    @property
    def nodes(self) -> Sequence[str]: ...
    @property
    def program(self) -> Program: ...
    @property
    def clock_hz(self) -> int: ...
    @property
    def count(self) -> int: ...
    @property
    def iterations(self) -> int: ...
    @property
    def work(self) -> Sequence[tuple[str, int]]: ...
    @property
    def traffic(self) -> Sequence[tuple[str, int]]: ...
    @property
    def schedule(self) -> str: ...
    @property
    def reason(self) -> str: ...


class TracedRun(Protocol):
    """A distinct call, simulated."""

    @property
    def timeline(self) -> Timeline: ...
    @property
    def duration_ps(self) -> int: ...


class TracedPlan(Protocol):
    """Calls in the order of their launches; consecutive ones of one block and count repeat together."""

    @property
    def calls(self) -> Sequence[TracedCall]: ...


class Traced(Protocol):
    """A simulated plan: an Execution."""

    @property
    def plan(self) -> TracedPlan: ...
    @property
    def calls(self) -> Sequence[TracedRun]: ...
    @property
    def schedule(self) -> Timeline: ...


class Slice(NamedTuple):
    """Something that a lane shows, with facts about it."""

    lane: str
    name: str
    start_ps: int
    end_ps: int
    facts: dict[str, Any]


@dataclass(frozen=True)
class Part:
    """The first spans of a Timeline, how many others there are, and the real cycle in which those begin."""

    spans: tuple[Span, ...]
    hidden: int
    hidden_from: int

    def cut(self, name: str) -> tuple[str, ...]:
        """What was left out of the call or level of this name, if anything."""
        kept, happened = len(self.spans), len(self.spans) + self.hidden
        return (f"{name}: the first {kept:,} of {happened:,} spans",) if self.hidden else ()


@dataclass(frozen=True)
class Launched:
    """One launch, and when the device ran it. block_pass: which group of calls repeats, and how often it did before."""

    call: TracedCall
    run: TracedRun
    span: Span
    block_pass: tuple[int, int]


def spans_in_all(timeline: Timeline) -> int:
    """Spans of the whole run, those of repeated windows as often as they happened."""
    weights = iter(segments(timeline))
    happened = 0
    _, end, weight = next(weights, (0, 0, 1))
    for span in timeline.spans:
        while span.start >= end:
            _, end, weight = next(weights, (end, span.start + 1, 1))
        happened += weight
    return happened


def first_spans(timeline: Timeline, most: int) -> Part:
    """At most so many spans of a Timeline; those that are left out start after, or with, the last of them."""
    spans = tuple(islice(real_spans(timeline), most + 1))
    if len(spans) <= most:
        return Part(spans, 0, timeline.total_cycles)
    return Part(spans[:most], spans_in_all(timeline) - most, spans[most].start)


def launches(execution: Traced, spans: Sequence[Span]) -> Iterator[Launched]:
    """Each launch, with its span of the call level: calls run one at a time, in order."""
    running = (span for span in spans if span.unit in RUNNING)
    for span, (call, run, block_pass) in zip(running, _in_order(execution), strict=False):
        yield Launched(call, run, span, block_pass)


def first_launches(launched: Sequence[Launched]) -> tuple[Launched, ...]:
    """The first launch of each distinct call, in order."""
    first: dict[str, Launched] = {}
    for launch in launched:
        first.setdefault(launch.call.name, launch)
    return tuple(first.values())


def shares(wanted: Sequence[int], most: int) -> tuple[int, ...]:
    """What each gets of `most` in all: small wants are met, and the large ones share the rest evenly."""
    got = [0] * len(wanted)
    smallest_first = sorted(range(len(wanted)), key=lambda number: wanted[number])
    for met, number in enumerate(smallest_first):
        got[number] = min(wanted[number], most // (len(wanted) - met))
        most -= got[number]
    return tuple(got)


def call_slices(calls: Part, launched: Sequence[Launched], total_ps: int) -> Iterator[Slice]:
    """The call level: passes of blocks, calls, gaps, launches by the host, and a slice for what is not shown."""
    for _, group in groupby(launched, key=lambda launch: launch.block_pass):
        yield _block(tuple(group))
    for launch in launched:
        lane = COLLECTIVES if launch.span.unit == LINK else CALLS
        yield Slice(lane, launch.call.name, launch.span.start, launch.span.end, {"nodes": ", ".join(launch.call.nodes)})
    for span in calls.spans:
        if span.unit in (GAP, HOST):
            yield Slice(BETWEEN if span.unit == GAP else LAUNCHES, span.label or span.unit, span.start, span.end, {})
    if calls.hidden:
        yield Slice(BLOCKS, f"{calls.hidden:,} spans not shown", calls.hidden_from, total_ps, {})


def inside_slices(launch: Launched, part: Part) -> Iterator[Slice]:
    """What the units do in a launch, under a slice that says what the call is; one more for what is not shown of it."""
    begin_ps, duration_ps = launch.span.start, launch.run.duration_ps
    cycles = max(launch.run.timeline.total_cycles, 1)
    lane_of = {unit.name: unit_lane(unit) for unit in launch.call.program.units}

    def at_ps(cycle: int) -> int:
        return begin_ps + cycle * duration_ps // cycles

    yield Slice(INSIDE, launch.call.name, begin_ps, at_ps(part.hidden_from), _about(launch, part))
    if part.hidden:
        yield Slice(INSIDE, f"{part.hidden:,} spans not shown", at_ps(part.hidden_from), begin_ps + duration_ps, {})
    for span in part.spans:
        yield Slice(lane_of[span.unit], span.label or span.unit, at_ps(span.start), at_ps(span.end), _facts(span))


def unit_lane(unit: Unit) -> str:
    """A lane's name: the unit, and which part of the overlap account its work is in."""
    return unit.name if unit.name == unit.unit_class else f"{unit.name} ({unit.unit_class})"


def lane_order(calls: Sequence[TracedCall]) -> tuple[str, ...]:
    """All lanes of a run, from the top: units as early as they come up, but in the order that every program has."""
    above: dict[str, set[str]] = {}
    for call in calls:
        lanes = [unit_lane(unit) for unit in call.program.units]
        for lane in lanes:
            above.setdefault(lane, set())
        for upper, lower in pairwise(lanes):
            above[lower].add(upper)
    order = list(CALL_LANES)
    while above:
        # Where programs contradict each other, the one that comes up first.
        lane = next((lane for lane in above if above[lane].isdisjoint(above)), next(iter(above)))
        order.append(lane)
        del above[lane]
    return tuple(order)


def _in_order(execution: Traced) -> Iterator[tuple[TracedCall, TracedRun, tuple[int, int]]]:
    """All launches of a run as its plan says, with the pass of the block that each is in."""
    pairs = zip(execution.plan.calls, execution.calls, strict=True)
    for number, ((_, count), group) in enumerate(groupby(pairs, key=lambda pair: (pair[0].block, pair[0].count))):
        steps = tuple(group)
        for before in range(count):
            yield from ((call, run, (number, before)) for call, run in steps)


def _block(launched: Sequence[Launched]) -> Slice:
    """One pass of a block, from its first call to its last."""
    first, (_, before) = launched[0].call, launched[0].block_pass
    name = first.block or first.name
    name += f" {before + 1} of {first.count}" if first.count > 1 else ""
    name += f", {first.iterations} times in one call" if first.iterations > 1 else ""
    return Slice(BLOCKS, name, launched[0].span.start, launched[-1].span.end, {"calls": len(launched)})


def _about(launch: Launched, part: Part) -> dict[str, Any]:
    """What a call is, for people."""
    call = launch.call
    return {
        "nodes": ", ".join(call.nodes),
        "reason": call.reason,
        "schedule": call.schedule,
        "launches": call.count,
        "cycles": launch.run.timeline.total_cycles,
        "clock_hz": call.clock_hz,
        "spans": len(part.spans) + part.hidden,
        "spans_shown": len(part.spans),
        "work": dict(call.work),
        "traffic_bytes": dict(call.traffic),
    }


def _facts(span: Span) -> dict[str, Any]:
    """A span in cycles of its call, exactly. What it waited for its unit and was in flight after it: if it did."""
    facts: dict[str, Any] = {"role": span.role, "cycle": span.start, "cycles": span.end - span.start}
    facts |= {"waited_cycles": span.start - span.ready} if span.start > span.ready else {}
    return facts | ({"in_flight_cycles": span.usable - span.end} if span.usable > span.end else {})
