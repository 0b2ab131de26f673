"""Why a Program takes as long as it does: the work of its limiting unit, and what stood between that work.

The limiting unit has the greatest work / lanes (first listed). It works while any of its lanes is held, so its spans
are merged into stretches. The time before the first stretch is `fill`, that after the last is `drain`; every other gap
is walked back from the span that ends it, along causes, to where the gap began. A piece of a gap is named after the
unit class of the span that the walk is at, or `latency` between that span's end and when it was usable.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from math import prod

from patterns.pipeline.bounds import limiting_unit
from patterns.pipeline.overlap import EXPOSED
from patterns.pipeline.program import Program
from patterns.pipeline.timeline import Span, Timeline, segments

PARTS = (
    "work",
    "fill",
    "drain",
    "exposed_matrix",
    "exposed_vector",
    "exposed_memory",
    "exposed_network",
    "latency",
    "issue",
    "synchronisation",
    "launch",
)


Piece = tuple[str, int, int]


@dataclass(frozen=True)
class Stretch:
    """The limiting unit works in stepped [begin, end); `opened_by` is the index of its first span."""

    begin: int
    end: int
    opened_by: int


@dataclass(frozen=True)
class Ruler:
    """Measures a part of stepped time in which every moment counts a number of times."""

    cuts: tuple[int, ...]
    weights: tuple[int, ...]
    before: tuple[int, ...]

    def length(self, begin: int, end: int) -> int:
        """How long stepped [begin, end) is."""
        return self._until(end) - self._until(begin) if begin < end else 0

    def _until(self, moment: int) -> int:
        index = bisect_right(self.cuts, moment, 1, len(self.weights)) - 1
        return self.before[index] + (moment - self.cuts[index]) * self.weights[index]


def explain(program: Program, timeline: Timeline) -> tuple[tuple[str, int], ...]:
    """Cycles of each part, in the order of PARTS; they add up to timeline.total_cycles. Needs a run with spans."""
    cycles: Counter[str] = Counter()
    stretches = _stretches(program, timeline)
    if stretches:
        first, last = stretches[0].begin, stretches[-1].end
        cycles["work"] = _work(timeline, stretches)
        cycles["fill"] = _ruler(timeline, 0, first).length(0, first)
        cycles["drain"] = _ruler(timeline, last, timeline.stepped_cycles).length(last, timeline.stepped_cycles)
        for before, after in pairwise(stretches):
            cycles.update(_gap(program, timeline, before.end, after))
    else:
        cycles["fill"] = timeline.total_cycles
    if sum(cycles.values()) != timeline.total_cycles:
        raise AssertionError(
            f"{program.name}: waterfall adds up to {sum(cycles.values())}, not {timeline.total_cycles}"
        )
    return tuple((part, cycles[part]) for part in PARTS)


def _stretches(program: Program, timeline: Timeline) -> list[Stretch]:
    """When the limiting unit works on any lane, in order, as long as they go."""
    unit = limiting_unit(program).name
    found: list[Stretch] = []
    for index, span in enumerate(timeline.spans):
        if span.unit == unit and span.start < span.end:
            if found and span.start <= found[-1].end:
                found[-1] = replace(found[-1], end=max(found[-1].end, span.end))
            else:
                found.append(Stretch(span.start, span.end, index))
    return found


def _work(timeline: Timeline, stretches: list[Stretch]) -> int:
    """Length of all stretches, every moment as often as it happened."""
    happened = _measure([(begin, end, weight) for begin, end, weight in segments(timeline)])
    return sum(happened.length(stretch.begin, stretch.end) for stretch in stretches)


def _gap(program: Program, timeline: Timeline, begin: int, after: Stretch) -> Counter[str]:
    """The pieces of all happenings of a gap.

    Two equal periods come before a jump, so a gap that ends in a window looks the same in each of its happenings: it
    counts as often as the span that ends it. A window that lies within the gap counts all its happenings each time.
    """
    times = prod(1 + w.extra for w in timeline.windows if w.start < after.begin <= w.end)
    ruler = _ruler(timeline, begin, after.begin)
    cycles: Counter[str] = Counter()
    for name, start, end in _walk(program, timeline.spans, begin, after):
        cycles[name] += ruler.length(start, end) * times
    return cycles


def _walk(program: Program, spans: tuple[Span, ...], begin: int, after: Stretch) -> Iterator[Piece]:
    """Pieces of a gap from its end back to its beginning; what no cause explains is latency."""
    now = after.begin
    index = spans[after.opened_by].cause
    while now > begin and index >= 0:
        span = spans[index]
        end = max(begin, min(now, span.end))
        start = max(begin, min(end, span.start))
        yield "latency", end, now
        yield EXPOSED[program.unit_named[span.unit].unit_class], start, end
        now, index = start, span.cause
    yield "latency", begin, now


def _ruler(timeline: Timeline, begin: int, end: int) -> Ruler:
    """Measures stepped [begin, end) where only the windows that lie in it count more than once."""
    windows = [w for w in timeline.windows if begin <= w.start and w.end <= end]
    cuts = sorted({begin, end, *(w.start for w in windows), *(w.end for w in windows)})
    return _measure([(a, b, prod(1 + w.extra for w in windows if w.start <= a < w.end)) for a, b in pairwise(cuts)])


def _measure(parts: list[tuple[int, int, int]]) -> Ruler:
    """The ruler of adjacent parts (begin, end, weight)."""
    before = accumulate(((end - begin) * weight for begin, end, weight in parts), initial=0)
    return Ruler(tuple(begin for begin, _, _ in parts), tuple(weight for _, _, weight in parts), tuple(before))
