"""The time of a compiled section in closed form: for sections so large that simulating many of them takes too long.

As predict.py has it, but with the PCUs, PMUs and ways that the section has: a pipe takes its fill once and its slowest
stage, or the memory's time for its bytes, for each further step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from patterns.pipeline.script import Op, Run, Start
from rdu_model.homes import first_memory
from rdu_model.lanes import arrival_cycles
from rdu_model.pipe import Item, Load, Pipe, Reorder, Store, placed, reads_of, steps
from rdu_model.section import Section
from rdu_model.work import leaf_ops

Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Step:
    """Of one step of a pipe: cycles of its longest path (fill), of its slowest stage, of all its streams (memory)."""

    fill: int
    slowest: int
    memory: int


def expected_cycles(section: Section) -> int:
    """What a section takes, without simulating it."""
    metapipe, machine = section.flow.metapipe, section.machine
    whole = _step(section, metapipe.body, dict(metapipe.sizes))
    pipes = sum(isinstance(item, Pipe) for item in metapipe.body)
    # While one pipe fills, streams of the next run ahead, as far as the machine has room for them.
    ahead = first_memory(machine).pace.cycles_for(machine.prefetch_bytes) * max(0, pipes - 1)
    return max(whole.slowest, whole.memory + max(0, whole.fill - whole.memory - ahead))


def _step(section: Section, body: tuple[Item, ...], sizes: Sizes) -> Step:
    number_of: dict[str, int] = {}
    ends: list[int] = []
    slowest = memory = 0
    for number, item in enumerate(body):
        inside = [found.leaf for found in placed((item,))]
        number_of |= {leaf.name: number for leaf in inside}
        needed = {number_of[read] for leaf in inside for read in reads_of(leaf) if read in number_of} - {number}
        took, busy, moved = _took(section, item, sizes)
        slowest, memory = max(slowest, busy), memory + moved
        ends.append(max((ends[before] for before in needed), default=0) + took)
    return Step(max(ends, default=0), slowest, memory)


def _took(section: Section, item: Item, sizes: Sizes) -> tuple[int, int, int]:
    """Of one item of a body: cycles from its first tile to its last, of its slowest stage, of its streams."""
    if isinstance(item, Reorder):
        return 0, 0, 0
    if isinstance(item, Pipe):
        inner = _step(section, item.body, {**sizes, item.dim: min(item.extent, sizes[item.dim])})
        trips = steps(item, sizes[item.dim])
        each = max(inner.slowest, inner.memory)
        return inner.fill + (trips - 1) * each, trips * inner.slowest, trips * inner.memory
    cycles = _cycles(leaf_ops(item, section, sizes))
    late = max(
        (
            arrival_cycles(section, item.name, buffer.link.name)
            for buffer in section.buffers_of[item.name]
            if buffer.link.source == item.name
        ),
        default=0,
    )
    return cycles + late, cycles, cycles if isinstance(item, Load | Store) else 0


def _cycles(ops: tuple[Op, ...]) -> int:
    return sum(op.cycles for op in ops if isinstance(op, Run | Start))
