"""Where the time of a run went, by what was busy: the one definition of overlap, for both machines.

Every moment has the set of the classes that are busy in it, and that set names it:

overlapped        at least two of matrix, vector (with special), memory, network
exposed_<class>   one of them, and no other of them
issue             none of them, but an issue unit
synchronisation   none of these, but a sync unit
launch            none of these, but a launch unit
in_flight         no unit at all, but the latency of something that left its unit
idle              nothing

A part is the number of cycles with its name, over half-open intervals. Several lanes or units of a class are busy
when one is: a union, so it saturates; utilisation is shown beside it for that reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from patterns.pipeline.program import Program, UnitClass
from patterns.pipeline.timeline import Span, Timeline, segments

PARTS = (
    "overlapped",
    "exposed_matrix",
    "exposed_vector",
    "exposed_memory",
    "exposed_network",
    "in_flight",
    "issue",
    "synchronisation",
    "launch",
    "idle",
)
# How work of a unit class is named where nothing else is going on. Special functions are vector work.
EXPOSED: dict[UnitClass, str] = {
    "matrix": "exposed_matrix",
    "vector": "exposed_vector",
    "special": "exposed_vector",
    "memory": "exposed_memory",
    "network": "exposed_network",
    "issue": "issue",
    "sync": "synchronisation",
    "launch": "launch",
}
# What is worth overlapping, and then what names a moment without any of it, in this order.
_WORK = ("exposed_matrix", "exposed_vector", "exposed_memory", "exposed_network")
_OTHERWISE = ("issue", "synchronisation", "launch", "in_flight")

Edge = tuple[int, str, int]


def account(program: Program, timeline: Timeline) -> tuple[tuple[str, int], ...]:
    """Cycles of each part, in the order of PARTS; they add up to timeline.total_cycles. Needs a run with spans."""
    cycles: Counter[str] = Counter()
    busy: Counter[str] = Counter()
    edges = iter([*_edges(program, timeline.spans), (timeline.stepped_cycles, "idle", 0)])
    moment, name, change = next(edges)
    for begin, end, weight in segments(timeline):
        now = begin
        while now < end:
            while moment <= now:
                busy[name] += change
                moment, name, change = next(edges)
            until = min(moment, end)
            cycles[_name(busy)] += (until - now) * weight
            now = until
    return tuple((part, cycles[part]) for part in PARTS)


def stretches(program: Program, spans: Iterable[Span], begin: int, end: int) -> list[tuple[int, int, str]]:
    """The moments of [begin, end) by name, as long as each goes on: (from, to, part). `spans`: all that reach into it.

    Spans are in any cycles, as long as begin and end are in the same.
    """
    found: list[tuple[int, int, str]] = []
    busy: Counter[str] = Counter()
    now = begin
    for moment, name, change in [*_edges(program, spans), (end, "idle", 0)]:
        until = min(max(moment, begin), end)
        if until > now:
            part = _name(busy)
            if found and found[-1][2] == part:
                found[-1] = found[-1][0], until, part
            else:
                found.append((now, until, part))
            now = until
        busy[name] += change
    return found


def _edges(program: Program, spans: Iterable[Span]) -> list[Edge]:
    """Every moment at which something begins (+1) or ends (-1) to be busy or in flight, in order."""
    name_of = {unit.name: EXPOSED[unit.unit_class] for unit in program.units}
    edges: list[Edge] = []
    for span in spans:
        name = name_of[span.unit]
        edges += _interval(span.start, span.end, name)
        edges += _interval(span.end, span.usable, "in_flight")
    return sorted(edges)


def _interval(begin: int, end: int, name: str) -> Iterator[Edge]:
    """The two edges of [begin, end); none if it is empty."""
    if begin < end:
        yield begin, name, 1
        yield end, name, -1


def _name(busy: Counter[str]) -> str:
    """The part that a moment belongs to."""
    work = [name for name in _WORK if busy[name]]
    if len(work) > 1:
        return "overlapped"
    return work[0] if work else next((name for name in _OTHERWISE if busy[name]), "idle")
