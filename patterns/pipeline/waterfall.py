"""Why a Program takes as long as it does: the work of its limiting unit, and what stood between that work.

The limiting unit has the greatest work / lanes (first listed). It works while any of its lanes is held, so its spans
are merged into stretches. The time before the first stretch is `fill`, that after the last is `drain`; every other gap
is walked back from the span that ends it, along causes, to where the gap began. A piece of a gap is named after the
unit class of the span that the walk is at, or `latency` between that span's end and when it was usable.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise

from patterns.pipeline.bounds import limiting_unit
from patterns.pipeline.gaps import Repeat, Walk, lying_in, nested
from patterns.pipeline.overlap import EXPOSED
from patterns.pipeline.program import Program
from patterns.pipeline.timeline import Timeline, segments

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


@dataclass(frozen=True)
class Stretch:
    """The limiting unit works in stepped [begin, end); `opened_by` is the index of its first span."""

    begin: int
    end: int
    opened_by: int


def explain(program: Program, timeline: Timeline) -> tuple[tuple[str, int], ...]:
    """Cycles of each part, in the order of PARTS; they add up to timeline.total_cycles. Needs a run with spans."""
    cycles: Counter[str] = Counter()
    stretches = _stretches(program, timeline)
    if stretches:
        repeats = nested(timeline)
        first, last = stretches[0].begin, stretches[-1].end
        cycles["work"] = _work(timeline, stretches)
        cycles["fill"] = _length(repeats, 0, first)
        cycles["drain"] = _length(repeats, last, timeline.stepped_cycles)
        _add_gaps(program, timeline, stretches, cycles)
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


def _add_gaps(program: Program, timeline: Timeline, stretches: list[Stretch], cycles: Counter[str]) -> None:
    """Add the pieces of all happenings of every gap.

    Two equal periods come before a jump, so a gap that ends in a window looks the same in each of its happenings: it
    counts as often as the span that ends it. A window that lies within the gap counts whole each time.
    """
    repeats = nested(timeline)
    pieces = segments(timeline)
    ends = [end for _, end, _ in pieces]
    walk = Walk(timeline.spans, {unit.name: EXPOSED[unit.unit_class] for unit in program.units})
    for before, after in pairwise(stretches):
        found: Counter[str] = Counter()
        within = tuple(lying_in(repeats, before.end, after.begin))
        walk.back(after.begin, before.end, timeline.spans[after.opened_by].cause, within, found)
        # What starts in the cycle in which a window ends is in it: the weight is that of the cycle before.
        weight = pieces[bisect_left(ends, after.begin)][2]
        for name, amount in found.items():
            cycles[name] += amount * weight


def _work(timeline: Timeline, stretches: list[Stretch]) -> int:
    """Length of all stretches, every moment as often as it happened."""
    pieces = iter(segments(timeline))
    begin, end, weight = next(pieces)
    work = 0
    for stretch in stretches:
        while begin < stretch.end:
            work += max(0, min(end, stretch.end) - max(begin, stretch.begin)) * weight
            if end > stretch.end:
                break
            begin, end, weight = next(pieces, (timeline.stepped_cycles, timeline.stepped_cycles, 1))
    return work


def _length(repeats: tuple[Repeat, ...], begin: int, end: int) -> int:
    """Length of stepped [begin, end) where only the windows that lie in it count more than once."""
    return end - begin + sum(repeat.skipped_cycles for repeat in lying_in(repeats, begin, end))
