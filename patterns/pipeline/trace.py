"""A run as Chrome Trace Event JSON, which ui.perfetto.dev and chrome://tracing open.

A run is a process, and each of its lanes is a thread, or several if slices overlap on it: the viewers drop slices that
overlap on one thread. Their time has whole nanoseconds, and a cycle may be shorter, so slices have their exact cycles
as arguments.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from patterns.pipeline.lanes import (
    Slice,
    Traced,
    call_slices,
    first_launches,
    first_spans,
    inside_slices,
    lane_order,
    launches,
    shares,
    spans_in_all,
)

PS_PER_NS = 1000
NS_PER_US = 1000
SCHEDULE_EVENTS = 40_000
INSIDE_EVENTS = 8_000
# Perfetto takes the thread that has the number of its process for the main one and puts it on top: let none have it.
FIRST_PID = 1000

Event = dict[str, Any]
Row = tuple[str, int]


def chrome_trace(
    execution: Traced, *, name: str = "run", pid: int = FIRST_PID, inside_events: int = INSIDE_EVENTS
) -> dict[str, Any]:
    """The trace as data: traceEvents (X slices, i instants, M names), displayTimeUnit, otherData.

    At most `inside_events` spans inside calls are kept, the first ones of each, so that files stay small enough to
    open; slices beside them and otherData say what was cut. `pid` is the number of the process, in steps of FIRST_PID.
    Needs a run with spans.
    """
    calls = first_spans(execution.schedule, SCHEDULE_EVENTS)
    launched = tuple(launches(execution, calls.spans))
    slices = list(call_slices(calls, launched, execution.schedule.total_cycles))
    cut = calls.cut("all calls")
    first = first_launches(launched)
    for launch, most in zip(first, shares([spans_in_all(it.run.timeline) for it in first], inside_events), strict=True):
        part = first_spans(launch.run.timeline, most)
        slices += inside_slices(launch, part)
        cut += part.cut(launch.call.name)
    about = {
        "time": "real time; `cycle` and `cycles` are counted from the start of a call",
        "time_ps": execution.schedule.total_cycles,
        "cut": list(cut),
    }
    events = [*_process(pid, name), *_threads(pid, lane_order(execution.plan.calls), slices)]
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": about}


def trace_text(runs: Iterable[tuple[str, Traced]], *, inside_events: int = INSIDE_EVENTS) -> str:
    """The text of a .json file that shows runs below each other, by name; otherData has a part for each name."""
    events: list[Event] = []
    about: dict[str, Any] = {}
    for number, (name, execution) in enumerate(runs, start=1):
        trace = chrome_trace(execution, name=name, pid=number * FIRST_PID, inside_events=inside_events)
        events += trace["traceEvents"]
        about[name] = trace["otherData"]
    whole = {"traceEvents": events, "displayTimeUnit": "ns", "otherData": about}
    return json.dumps(whole, allow_nan=False, separators=(",", ":"))


def _process(pid: int, name: str) -> Iterator[Event]:
    """Name and place of a process. Viewers sort by the place, or by their own mind."""
    yield _about("process_name", pid, 1, {"name": name})
    yield _about("process_sort_index", pid, 1, {"sort_index": pid})


def _threads(pid: int, lanes: Iterable[str], slices: Iterable[Slice]) -> Iterator[Event]:
    """Names, places and slices of the threads that are needed, thread by thread."""
    place = {lane: number for number, lane in enumerate(lanes)}
    rows = _rows(slices)
    for tid, (lane, number) in enumerate(sorted(rows, key=lambda row: (place[row[0]], row[1])), start=1):
        yield _about("thread_name", pid, tid, {"name": f"{lane} {number}" if (lane, 2) in rows else lane})
        yield _about("thread_sort_index", pid, tid, {"sort_index": tid})
        yield from _row_events(pid, tid, rows[lane, number])


def _rows(slices: Iterable[Slice]) -> dict[Row, list[Slice]]:
    """Slices by lane and by the first row of it, from 1, that is free for them; in order of start."""
    rows: dict[Row, list[Slice]] = {}
    for piece in sorted(slices, key=lambda piece: piece.start_ps):
        number = 1
        while (row := rows.setdefault((piece.lane, number), [])) and row[-1].end_ps > piece.start_ps:
            number += 1
        row.append(piece)
    return rows


def _row_events(pid: int, tid: int, row: Sequence[Slice]) -> Iterator[Event]:
    """Complete events, and instants for slices that no nanosecond is left for."""
    for piece, (start_ns, end_ns) in zip(row, whole_nanoseconds(row), strict=True):
        event: Event = {"name": piece.name, "pid": pid, "tid": tid, "ts": start_ns / NS_PER_US}
        event |= {"ph": "X", "dur": (end_ns - start_ns) / NS_PER_US} if start_ns < end_ns else {"ph": "i", "s": "t"}
        yield event | ({"args": piece.facts} if piece.facts else {})


def whole_nanoseconds(row: Sequence[Slice]) -> Iterator[tuple[int, int]]:
    """Start and end of each slice in whole nanoseconds, without overlaps.

    Both are rounded down (a rounded duration would overlap the next slice). What takes time is given a nanosecond at
    least, and what follows starts at most two late; the start alone is left of a slice that would be later still.
    """
    free_ns = 0
    for piece in row:
        start_ns, end_ns = piece.start_ps // PS_PER_NS, piece.end_ps // PS_PER_NS
        if piece.start_ps == piece.end_ps or free_ns > max(end_ns, start_ns + 1):
            yield start_ns, start_ns
            continue
        start_ns = max(start_ns, free_ns)
        free_ns = max(end_ns, start_ns + 1)
        yield start_ns, free_ns


def _about(what: str, pid: int, tid: int, args: dict[str, Any]) -> Event:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": args}
