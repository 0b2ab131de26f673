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

Key = TypeVar("Key", str, tuple[int, ...])


def packed(program: Program, timeline: Timeline, most: int) -> dict[str, Any]:
    """The first `most` stepped spans and all windows.

    units: (name, class, lanes). words: names of roles and of work. kinds: (role, label, unit, cycles, cycles in flight
    after them, cycles of waiting for the unit, spans back to the cause or 0 for none, whether it starts when its cause
    is usable and not at its end); the first three are places in words and units. spans: places in kinds.
    windows: (start, end, extra) in stepped cycles. hidden_from: the stepped cycle in which the spans begin that are
    left out, or null. in_all: how many spans happened.
    """
    units = {unit.name: place for place, unit in enumerate(program.units)}
    words: dict[str, int] = {}
    kinds: dict[tuple[int, ...], int] = {}
    shown = timeline.spans[:most]
    places = [place_of(kind(timeline.spans, number, words, units), kinds) for number in range(len(shown))]
    return {
        "units": [(unit.name, unit.unit_class, unit.lanes) for unit in program.units],
        "words": list(words),
        "kinds": list(kinds),
        "spans": places,
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
    return (
        place_of(span.role, words),
        place_of(span.label or span.unit, words),
        units[span.unit],
        span.end - span.start,
        span.usable - span.end,
        span.start - span.ready,
        back,
        late,
    )


def place_of(key: Key, places: dict[Key, int]) -> int:
    """The place of a key, a new one if it has none."""
    return places.setdefault(key, len(places))
