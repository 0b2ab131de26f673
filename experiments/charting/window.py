"""A part of a call in the middle of it: what its roles do there, and at each moment what overlaps."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from experiments.charting.blocks import Block, put_together
from experiments.charting.examples import lane_names
from patterns.pipeline.overlap import stretches
from patterns.pipeline.timeline import Span, real_spans

if TYPE_CHECKING:
    from experiments.compare import Outcome
    from patterns.pipeline.timeline import Timeline
    from patterns.plan import Call

# As many spans a lane tell a pipeline's pattern.
SPANS_A_LANE = 14
MOST_LANES = 14
# A call of which so much fits on the axis is shown from its beginning.
NEARLY_ALL = 0.8
STRIP = "all together"


@dataclass(frozen=True)
class Window:
    """Cycles [begin, end) of a call. blocks: of its roles, in cycles from begin; strip: the parts of the account."""

    outcome: Outcome
    call: Call
    begin: int
    end: int
    blocks: tuple[Block, ...]
    strip: tuple[Block, ...]
    lanes: tuple[str, ...]
    lanes_left_out: int

    @property
    def total_cycles(self) -> int:
        """Of the whole call."""
        return self.outcome.execution.call_named[self.call.name].timeline.total_cycles

    @property
    def cycle_us(self) -> float:
        """Microseconds that a cycle takes."""
        return 1e6 / self.call.clock_hz


def telling_us(outcome: Outcome, call: Call) -> float:
    """How long a window is that has enough spans to tell the call's pattern, in microseconds; at most the call."""
    timeline = outcome.execution.call_named[call.name].timeline
    begin = timeline.total_cycles // 2
    most = SPANS_A_LANE * len(set(lane_names(timeline.spans).values()))
    spans = list(islice(real_spans(timeline, begin), most + 1))
    enough = spans[-1].start - begin if len(spans) > most else timeline.total_cycles
    return min(enough, timeline.total_cycles) * 1e6 / call.clock_hz


def window_of(outcome: Outcome, call: Call, length_us: float) -> Window:
    """So much of a call from its middle on, or from its beginning if nearly all of it fits. Needs a run with spans."""
    timeline = outcome.execution.call_named[call.name].timeline
    length = max(1, round(length_us * call.clock_hz / 1e6))
    begin = 0 if length >= NEARLY_ALL * timeline.total_cycles else timeline.total_cycles // 2
    end = min(begin + length, timeline.total_cycles)
    spans = list(real_spans(timeline, begin, end))
    blocks = _blocks(outcome, call, spans, begin, end)
    busy: Counter[str] = Counter()
    for block in blocks:
        busy[block.lane] += block.busy
    kept = {lane for lane, _ in busy.most_common(MOST_LANES)}
    strip = tuple(
        Block(STRIP, part.replace("_", " "), part, start - begin, stop - begin, 1, stop - start)
        for start, stop, part in stretches(call.program, spans, begin, end)
    )
    return Window(
        outcome,
        call,
        begin,
        end,
        put_together([block for block in blocks if block.lane in kept], end - begin),
        put_together(strip, end - begin),
        tuple(lane for lane in _in_dataflow_order(call, timeline) if lane in kept),
        len(busy) - len(kept),
    )


def _blocks(outcome: Outcome, call: Call, spans: list[Span], begin: int, end: int) -> list[Block]:
    """What lies in the window of each span that reaches into it."""
    classes = {unit.name: unit.unit_class for unit in call.program.units}
    lanes = lane_names(outcome.execution.call_named[call.name].timeline.spans)
    cut = ((span, max(span.start, begin), min(span.end, end)) for span in spans)
    return [
        Block(lanes[span.role, span.unit], span.label, classes[span.unit], start - begin, stop - begin, 1, stop - start)
        for span, start, stop in cut
        if start < stop
    ]


def _in_dataflow_order(call: Call, timeline: Timeline) -> tuple[str, ...]:
    """Lanes in the order in which the program lists roles, and of each role by first use."""
    lanes = lane_names(timeline.spans)
    place = {role.name: number for number, role in enumerate(call.program.roles)}
    return tuple(dict.fromkeys(lane for (role, _), lane in sorted(lanes.items(), key=lambda pair: place[pair[0][0]])))
