"""A whole run over time: its calls and what lies between them, and which classes of units are busy in a part of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from experiments.charting.blocks import MOST_UNROLLED, Block, blocks_of
from experiments.intervals import union
from patterns.pipeline.calls import GAP, HOST, LINK, PROLOGUE
from patterns.pipeline.lanes import Launched, launches, spans_in_all
from patterns.pipeline.overlap import stretches
from patterns.pipeline.timeline import Span, real_spans
from patterns.summarize import picoseconds

if TYPE_CHECKING:
    from patterns.plan import Call
    from patterns.report import Execution

CALLS, COLLECTIVES, BETWEEN, LAUNCHES, PROLOGUES = "calls", "collectives", "between calls", "launches", "prologues"
# As many spans inside calls can be told in a picture, and in seconds.
MOST_TOLD = 100_000
LEVEL_LANES = (CALLS, COLLECTIVES, BETWEEN, PROLOGUES, LAUNCHES)
TOGETHER = "all together"
CLASS_LANES = ("matrix", "vector", "memory", "network", TOGETHER)
OTHER_LANES: Mapping[str, tuple[str, str]] = {
    GAP: (BETWEEN, "sync"),
    HOST: (LAUNCHES, "launch"),
    PROLOGUE: (PROLOGUES, "launch"),
}
# A call's colour: the class of what it has most of, in time at the datasheet's rates.
CLASS_OF = {
    "matrix_flops": "matrix",
    "vector_ops": "vector",
    "special_ops": "special",
    "hbm_bytes": "memory",
    "l2_bytes": "memory",
    "ddr_bytes": "memory",
    "network_bytes": "network",
}


@dataclass(frozen=True)
class Part:
    """Picoseconds [begin, end) of a run, what they are of, and the launches in them."""

    begin: int
    end: int
    name: str
    launched: tuple[Launched, ...] = field(repr=False)


def level_blocks(execution: Execution) -> tuple[Block, ...]:
    """The call level in picoseconds. Runs of very many calls have those that repeat as one block."""
    if spans_in_all(execution.schedule) > MOST_UNROLLED:
        return blocks_of(execution.schedule_program, execution.schedule)
    peak = execution.plan.rates.peak_by_resource
    spans = list(real_spans(execution.schedule))
    style = {call.name: CLASS_OF.get(_limit(call, peak), "memory") for call in execution.plan.calls}
    found = [
        _level(one.span, COLLECTIVES if one.span.unit == LINK else CALLS, one.call.name, style[one.call.name])
        for one in launches(execution, spans)
    ]
    found += [
        _level(span, OTHER_LANES[span.unit][0], span.label, OTHER_LANES[span.unit][1])
        for span in spans
        if span.unit in OTHER_LANES
    ]
    return tuple(sorted((block for block in found if block.busy), key=lambda block: (block.start, block.lane)))


def _level(span: Span, lane: str, label: str, what: str) -> Block:
    return Block(lane, label, what, span.start, span.end, 1, span.end - span.start)


def _limit(call: Call, peak: Mapping[str, float]) -> str:
    least: Mapping[str, Fraction] = picoseconds(call.work, peak)
    return max(least, key=lambda resource: least[resource], default="")


def middle_part(execution: Execution) -> Part | None:
    """One execution, in the middle of the run, of the block that is executed most; the whole run if none repeats.

    None for a run of too many calls. Where more happens than can be told apart, only the middle of that.
    """
    if not execution.plan.calls or spans_in_all(execution.schedule) > MOST_UNROLLED:
        return None
    launched = tuple(launches(execution, list(real_spans(execution.schedule))))
    most = max(execution.plan.calls, key=lambda call: call.count * call.iterations)
    executions = most.count * most.iterations
    if executions == 1:
        return _thinned(Part(0, execution.schedule.total_cycles, "the whole run", launched))
    wanted, iteration = divmod(executions // 2, most.iterations)
    passes: dict[tuple[int, int], list[Launched]] = {}
    for one in launched:
        if one.call.block == most.block:
            passes.setdefault(one.block_pass, []).append(one)
    members = list(passes.values())[wanted]
    begin, length = members[0].span.start, members[-1].span.end - members[0].span.start
    name = f"execution {executions // 2 + 1} of {executions} of {most.block}"
    start, end = (begin + (iteration + more) * length // most.iterations for more in (0, 1))
    return _thinned(Part(start, end, name, launched))


def _thinned(part: Part) -> Part:
    """The part with the launches that reach into it, or so much of its middle that not too much happens there."""
    launched = tuple(one for one in part.launched if one.span.start < part.end and one.span.end > part.begin)
    inside = Part(part.begin, part.end, part.name, launched)
    happens = sum(
        spans_in_all(one.run.timeline)
        * (min(one.span.end, part.end) - max(one.span.start, part.begin))
        // max(one.run.duration_ps, 1)
        for one in launched
    )
    if happens <= MOST_TOLD:
        return inside
    middle, half = (part.begin + part.end) // 2, (part.end - part.begin) * MOST_TOLD // happens // 2
    return _thinned(Part(middle - half, middle + half, f"the middle of {part.name}", launched))


def part_blocks(execution: Execution, part: Part) -> tuple[Block, ...]:
    """A part of a run, in picoseconds from its begin: calls, what lies between, busy classes, and their overlap."""
    level = level_blocks(execution)
    found = [_cut(block, part) for block in level if block.start < part.end and block.end > part.begin]
    for launched in part.launched:
        found += _inside(launched, part)
    return tuple(sorted(found, key=lambda block: (block.start, block.lane)))


def _cut(block: Block, part: Part) -> Block:
    start, end = max(block.start, part.begin) - part.begin, min(block.end, part.end) - part.begin
    return Block(block.lane, block.label, block.what, start, end, block.count, end - start)


def _inside(launched: Launched, part: Part) -> Iterator[Block]:
    """When units of each class are busy in a launch: a block as long as one of the class is."""
    timeline, duration = launched.run.timeline, launched.run.duration_ps
    cycles, begin_ps = max(timeline.total_cycles, 1), launched.span.start
    first = max(0, (part.begin - begin_ps) * cycles // max(duration, 1))
    last = min(cycles, -(-(part.end - begin_ps) * cycles // max(duration, 1)))
    program = launched.call.program
    spans = list(real_spans(timeline, first, last))
    classes = {unit.name: "vector" if unit.unit_class == "special" else unit.unit_class for unit in program.units}

    def block(lane: str, what: str, start: int, end: int) -> Block:
        ends = (begin_ps + start * duration // cycles, begin_ps + end * duration // cycles)
        return _cut(Block(lane, "", what, *ends), part)

    for lane in CLASS_LANES[:-1]:
        own = ((max(span.start, first), min(span.end, last)) for span in spans if classes[span.unit] == lane)
        yield from (block(lane, lane, start, end) for start, end in union(own))
    for start, end, name in stretches(program, spans, first, last):
        yield block(TOGETHER, name, start, end)
