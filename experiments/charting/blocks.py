"""A run over time as blocks on lanes: one a role and unit, overlapping ones in sub-lanes, far too many put together."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import groupby

from experiments.charting.examples import lane_names
from patterns.pipeline.lanes import spans_in_all
from patterns.pipeline.program import Program, UnitClass
from patterns.pipeline.timeline import Repeated, Span, Timeline, first_passes, real_spans, repeats

# Above this many spans a period that repeats is drawn once, and its repeats as one block.
MOST_UNROLLED = 20_000
# Above this many blocks those that lie within one BINS-th of the time become one.
MOST_BLOCKS = 4_000
BINS = 1_000


@dataclass(frozen=True)
class Block:
    """Something that lasts, on a lane; or `count` of them in one, from the first's start to the last's end.

    what: the class of the unit that is held, or a part of the overlap account: how it is drawn. busy: how long in all.
    """

    lane: str
    label: str
    what: str
    start: int
    end: int
    count: int = 1
    busy: int = 0


def blocks_of(program: Program, timeline: Timeline) -> tuple[Block, ...]:
    """All uses of units in cycles, in order of start. Zero-length uses are left out. Needs a run with spans."""
    classes = {unit.name: unit.unit_class for unit in program.units}
    lanes = lane_names(timeline.spans)
    if spans_in_all(timeline) <= MOST_UNROLLED:
        return tuple(_block(span, lanes, classes) for span in real_spans(timeline) if span.start < span.end)
    found = [
        replace(_block(span, lanes, classes), start=span.start + shift, end=span.end + shift)
        for span, shift in first_passes(timeline)
        if span.start < span.end
    ]
    for repeated in repeats(timeline):
        found += _repeats(repeated, lanes, classes)
    return tuple(sorted(found, key=lambda block: (block.start, block.lane)))


def _block(span: Span, lanes: Mapping[tuple[str, str], str], classes: Mapping[str, UnitClass]) -> Block:
    lane = lanes[span.role, span.unit]
    return Block(lane, span.label, classes[span.unit], span.start, span.end, 1, span.end - span.start)


def _repeats(
    repeated: Repeated, lanes: Mapping[tuple[str, str], str], classes: Mapping[str, UnitClass]
) -> Iterator[Block]:
    """What a window's repeats come to: a block a lane."""
    uses: Counter[tuple[str, UnitClass]] = Counter()
    busy: Counter[tuple[str, UnitClass]] = Counter()
    for span, times in repeated.spans:
        if span.start < span.end:
            key = lanes[span.role, span.unit], classes[span.unit]
            uses[key] += repeated.extra * times
            busy[key] += repeated.extra * times * (span.end - span.start)
    for key, count in uses.items():
        yield Block(key[0], f"x {repeated.extra:,}", key[1], repeated.begin, repeated.end, count, busy[key])


def put_together(blocks: Sequence[Block], until: int) -> tuple[Block, ...]:
    """The blocks if they are few enough to draw; else with those of a lane that start near each other as one."""
    if len(blocks) <= MOST_BLOCKS:
        return tuple(blocks)
    width = max(1, until // BINS)
    near: dict[tuple[str, int], list[Block]] = defaultdict(list)
    for block in blocks:
        near[block.lane, block.start // width].append(block)
    merged = [_one(group) for group in near.values()]
    return tuple(sorted(merged, key=lambda block: (block.start, block.lane)))


def _one(group: Sequence[Block]) -> Block:
    """Several blocks of a lane as one, which looks like those that are busy longest."""
    if len(group) == 1:
        return group[0]
    busiest: Counter[str] = Counter()
    for block in group:
        busiest[block.what] += block.busy
    count = sum(block.count for block in group)
    end, busy = max(block.end for block in group), sum(block.busy for block in group)
    what = max(busiest, key=lambda name: busiest[name])
    return replace(group[0], label=f"x {count:,}", what=what, end=end, count=count, busy=busy)


def sub_lanes(blocks: Sequence[Block]) -> tuple[tuple[str, int], ...]:
    """Which of its lane's sub-lanes each block is in: the first that is free. A lane of a unit that is used by one at
    a time has one. Returns (lane, sub-lane) in the order of the blocks.
    """
    order = sorted(range(len(blocks)), key=lambda i: (blocks[i].lane, blocks[i].start, blocks[i].end))
    found: dict[int, tuple[str, int]] = {}
    for lane, numbers in groupby(order, key=lambda i: blocks[i].lane):
        running: list[tuple[int, int]] = []
        free: list[int] = []
        made = 0
        for number in numbers:
            while running and running[0][0] <= blocks[number].start:
                heappush(free, heappop(running)[1])
            place = heappop(free) if free else made
            made = max(made, place + 1)
            heappush(running, (blocks[number].end, place))
            found[number] = (lane, place)
    return tuple(found[number] for number in range(len(blocks)))
