"""A run as Chrome Trace Event JSON, which ui.perfetto.dev and chrome://tracing open.

The call level is one process, in real time. Every distinct call is a process of its own, in which a nanosecond stands
for a cycle, as the viewers' time has whole nanoseconds. A unit is a thread, or several if spans overlap on it: the
viewers drop slices that overlap on one thread.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

from patterns.pipeline.timeline import Span, Timeline, real_spans, segments

PS_PER_NS = 1000
NS_PER_US = 1000
CALL_EVENTS = 4_000
SCHEDULE_EVENTS = 40_000

Event = dict[str, Any]


class TracedCall(Protocol):
    """A distinct call of a run."""

    @property
    def name(self) -> str: ...
    @property
    def timeline(self) -> Timeline: ...


class Traced(Protocol):
    """A simulated plan: an Execution."""

    @property
    def calls(self) -> Sequence[TracedCall]: ...
    @property
    def schedule(self) -> Timeline: ...


@dataclass(frozen=True)
class Process:
    """One process of the trace: a Timeline, and how many of its ticks make a nanosecond."""

    pid: int
    name: str
    timeline: Timeline
    ticks_per_ns: int
    max_events: int


def chrome_trace(execution: Traced, *, call_events: int = CALL_EVENTS) -> dict[str, Any]:
    """The trace as data: traceEvents (X slices, i instants, M names), displayTimeUnit, otherData.

    At most `call_events` spans of a call are kept, the first ones, so that files stay small enough to open; otherData
    says what was cut. Equal calls share a process. Needs a run with spans.
    """
    events: list[Event] = []
    cut: list[str] = []
    for process in _processes(execution, call_events):
        events += _process_events(process)
        kept, happened = process.max_events, spans_in_all(process.timeline)
        if happened > kept:
            cut.append(f"{process.name}: the first {kept:,} of {happened:,} spans")
    about = {
        "time": "process 1 is in real time; in every other process 1 ns is 1 cycle",
        "time_ps": execution.schedule.total_cycles,
        "cut": cut,
    }
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": about}


def trace_text(execution: Traced, *, call_events: int = CALL_EVENTS) -> str:
    """The trace as the text of a .json file."""
    return json.dumps(chrome_trace(execution, call_events=call_events), allow_nan=False, separators=(",", ":"))


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


def _processes(execution: Traced, call_events: int) -> Iterator[Process]:
    """The call level, then one process for each different Timeline, named after all calls that have it."""
    yield Process(1, "calls (real time)", execution.schedule, PS_PER_NS, SCHEDULE_EVENTS)
    names: dict[int, list[str]] = {}
    timelines: dict[int, Timeline] = {}
    for call in execution.calls:
        names.setdefault(id(call.timeline), []).append(call.name)
        timelines[id(call.timeline)] = call.timeline
    for pid, (key, timeline) in enumerate(timelines.items(), start=2):
        yield Process(pid, f"{', '.join(names[key])} (1 ns = 1 cycle)", timeline, 1, call_events)


def _process_events(process: Process) -> list[Event]:
    """Slices and instants of a process, after its names."""
    placed = list(_placed(islice(real_spans(process.timeline), process.max_events)))
    order = {unit: number for number, (unit, _) in enumerate(process.timeline.busy)}
    threads = sorted({thread for thread, _ in placed}, key=lambda thread: (order[thread[0]], thread[1]))
    tid_of = {thread: tid for tid, thread in enumerate(threads, start=1)}
    events = [_name("process", process.pid, 0, process.name), _sort("process", process.pid, 0, process.pid)]
    for (unit, lane), tid in tid_of.items():
        events.append(_name("thread", process.pid, tid, f"{unit} {lane}" if (unit, 1) in tid_of else unit))
        events.append(_sort("thread", process.pid, tid, tid))
    return events + [_span_event(process, tid_of[thread], span) for thread, span in placed]


def _placed(spans: Iterable[Span]) -> Iterator[tuple[tuple[str, int], Span]]:
    """Each span with its unit and the first lane of it that is free; spans are in order of start."""
    free_from: dict[str, list[int]] = {}
    for span in spans:
        lanes = free_from.setdefault(span.unit, [])
        lane = next((number for number, moment in enumerate(lanes) if moment <= span.start), len(lanes))
        lanes[lane : lane + 1] = [span.end]
        yield (span.unit, lane), span


def _span_event(process: Process, tid: int, span: Span) -> Event:
    """A complete event, or an instant where the span is too short to be seen.

    Start and end are rounded to the grid, not start and duration: neighbours would overlap.
    """
    start_ns, end_ns = span.start // process.ticks_per_ns, span.end // process.ticks_per_ns
    event: Event = {"name": span.label or span.unit, "cat": span.unit, "pid": process.pid, "tid": tid}
    event["ts"] = start_ns / NS_PER_US
    event |= {"ph": "X", "dur": (end_ns - start_ns) / NS_PER_US} if start_ns < end_ns else {"ph": "i", "s": "t"}
    waited_ns = span.start // process.ticks_per_ns - span.ready // process.ticks_per_ns
    in_flight_ns = span.usable // process.ticks_per_ns - end_ns
    event["args"] = {"role": span.role, "waited_ns": waited_ns, "in_flight_ns": in_flight_ns}
    return event


def _name(what: str, pid: int, tid: int, name: str) -> Event:
    return {"ph": "M", "name": f"{what}_name", "pid": pid, "tid": tid, "args": {"name": name}}


def _sort(what: str, pid: int, tid: int, index: int) -> Event:
    return {"ph": "M", "name": f"{what}_sort_index", "pid": pid, "tid": tid, "args": {"sort_index": index}}
