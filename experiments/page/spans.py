"""A Timeline as data for a page: few numbers a span, repeats left as windows.

A span starts in just the cycle in which its cause ends or becomes usable, so where it starts need not be said: what is
told of it (its kind) is what it is, how long it takes, how long it waited for its unit, and how many spans before it
its cause stands. Runs are periodic, so there are few kinds, and a span is the number of its kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from patterns.pipeline.lanes import spans_in_all

if TYPE_CHECKING:
    from patterns.pipeline.program import Program
    from patterns.pipeline.timeline import Span, Timeline

# A piece that was told before is named if it is so long.
LEAST = 6
# Of a kind always: role, label, unit and cycles.
LEAST_TOLD = 4
Key = TypeVar("Key", str, tuple[int, ...])


def packed(program: Program, timeline: Timeline, most: int, words: dict[str, int]) -> dict[str, Any]:
    """The first `most` stepped spans and all windows. words: place by name, which all timelines of a page share.

    units: (name, class, lanes), of which two are places in words. kinds: (role, label, unit, cycles, cycles in flight
    after them, cycles of waiting for the unit, spans back to the cause or 0 for none, whether it starts when its cause
    is usable and not at its end); the first three are places in words, words and units, and zeros at the end are left
    out. spans: places in kinds; a number -n below 0 and the length after it stand for so many of them from n places
    before on (see folded). shown: how many that are.
    windows: (start, end, extra) in stepped cycles. hidden_from: the stepped cycle in which the spans begin that are
    left out, or null. in_all: how many spans happened.
    """
    units = {unit.name: place for place, unit in enumerate(program.units)}
    kinds: dict[tuple[int, ...], int] = {}
    shown = timeline.spans[:most]
    places = [place_of(kind(timeline.spans, number, words, units), kinds) for number in range(len(shown))]
    return {
        "units": [(place_of(unit.name, words), place_of(unit.unit_class, words), unit.lanes) for unit in program.units],
        "kinds": list(kinds),
        "spans": folded(places),
        "shown": len(places),
        "windows": [(window.start, window.end, window.extra) for window in timeline.windows],
        "total": timeline.total_cycles,
        "stepped": timeline.stepped_cycles,
        "hidden_from": timeline.spans[most].start if len(timeline.spans) > most else None,
        "in_all": spans_in_all(timeline),
    }


def kind(spans: Sequence[Span], number: int, words: dict[str, int], units: Mapping[str, int]) -> tuple[int, ...]:
    """What is told of a span; words that are new are added."""
    span = spans[number]
    back, late = 0, 0
    if span.cause >= 0:
        back = number - span.cause
        late = int(span.start != spans[span.cause].end)
    told = [
        place_of(span.role, words),
        place_of(span.label or span.unit, words),
        units[span.unit],
        span.end - span.start,
        span.usable - span.end,
        span.start - span.ready,
        back,
        late,
    ]
    while not told[-1] and len(told) > LEAST_TOLD:
        told.pop()
    return tuple(told)


def folded(numbers: Sequence[int]) -> list[int]:
    """Numbers of at least 0, of which a piece that stood before is (-distance, length). It may reach into itself."""
    found: list[int] = []
    seen: dict[tuple[int, ...], int] = {}
    at = 0
    while at < len(numbers):
        length, before = 0, seen.get(tuple(numbers[at : at + LEAST]), -1)
        if before >= 0:
            length = LEAST
            while at + length < len(numbers) and numbers[before + length] == numbers[at + length]:
                length += 1
        found += [before - at, length] if length else [numbers[at]]
        for place in range(at, at + max(length, 1)):
            seen[tuple(numbers[place : place + LEAST])] = place
        at += max(length, 1)
    return found


def place_of(key: Key, places: dict[Key, int]) -> int:
    """The place of a key, a new one if it has none."""
    return places.setdefault(key, len(places))
