"""From a section to a Program: one role for each stage and each stream, in order.

A role waits for its tiles, takes a slot for its own, works on its unit, frees and hands on: at the level where a link
is, so a tile that a whole inner pipe reads is waited for before it and freed after it. The last, smaller step of each
pipe is written out after the loop of full steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from patterns.pipeline.program import Barrier, Channel, Program, Role
from patterns.pipeline.script import Acquire, Arrive, Await, Commit, Fill, Loop, Op, Release, Start, Wait
from rdu_model.flow import Flow, Link
from rdu_model.lanes import WAY, arrival_cycles, memory_for, units
from rdu_model.pipe import ITERATION, Carry, Leaf, Load, Pipe, Placed, Reorder, Spill, placed, steps_in
from rdu_model.section import Section
from rdu_model.work import leaf_ops, stream

Sizes = dict[str, int]

# Of what is handed on through off-chip memory one copy is written while the one before it is read.
SPILL_SLOTS = 2


def emit(section: Section) -> Program:
    """The Program of a section, in cycles of its machine's clock."""
    flow = section.flow
    sizes = dict(flow.metapipe.sizes)
    read: dict[str, list[Link]] = {name: [] for name in flow.leaves}
    made: dict[str, list[Link]] = {name: [] for name in flow.leaves}
    for buffer in section.buffers:
        made[buffer.link.source].append(buffer.link)
        for name in buffer.link.readers:
            read[name].append(buffer.link)
    handed: tuple[Carry | Spill, ...] = (*flow.metapipe.carries, *flow.metapipe.spills)
    roles = [
        Role(name, _Writer(section, found, read[name], made[name], handed).script(0, sizes))
        for name, found in flow.leaves.items()
    ]
    channels = [Channel(b.link.name, b.slots, len(b.link.readers)) for b in section.buffers]
    for carry in flow.metapipe.carries:
        channels.append(Channel(carry.name, carry.slots, len(carry.readers) + carry.stored))
        if carry.stored:
            roles.append(Role(f"store {carry.tensor}", _store_last(section, carry)))
    channels += [Channel(spill.name, SPILL_SLOTS, len(spill.readers)) for spill in flow.metapipe.spills]
    return Program(flow.metapipe.name, units(section), tuple(channels), tuple(roles), _barriers(flow))


def _store_last(section: Section, carry: Carry) -> tuple[Op, ...]:
    """What every iteration hands on passes by; that of the last is stored."""
    reader = len(carry.readers)
    take, give = Wait(carry.name, reader), Release(carry.name, reader)
    metapipe = section.flow.metapipe
    moved = section.flow.asked[carry.source].touched(metapipe.graph.sizes)[1]
    store = stream(memory_for(section, carry.tensor), moved, f"store {carry.tensor}")
    return (Loop(metapipe.iterations, (take, give), "iterations"), take, store, give)


def _barriers(flow: Flow) -> tuple[Barrier, ...]:
    around = [(pipe, level) for found in flow.leaves.values() for level, pipe in enumerate(found.path)]
    return tuple(Barrier(name) for name in dict.fromkeys(_drained(*one) for one in around if one[0].drain))


def _drained(pipe: Pipe, level: int) -> str:
    """The barrier of a pipe: by its level, too, because pipes inside one another may begin with the same leaf."""
    return f"drained {pipe.dim} {next(placed(pipe.body)).name} at {level}"


def _is_once(leaf: Leaf) -> bool:
    return isinstance(leaf, Load) and leaf.once


@dataclass(frozen=True)
class _Writer:
    """Writes the script of one role. read: the links from which it takes tiles; made: those into which it puts them.

    handed: what iterations hand on.
    """

    section: Section
    found: Placed
    read: Sequence[Link]
    made: Sequence[Link]
    handed: Sequence[Carry | Spill]

    def script(self, level: int, sizes: Sizes) -> tuple[Op, ...]:
        """What the role does from a level on, where the pipes above it have cut dims to `sizes`."""
        path = self.found.path
        at_tile = level == len(path)
        inside = leaf_ops(self.found.leaf, self.section, sizes) if at_tile else self._steps(path[level], level, sizes)
        return (*self._before(level), *inside, *self._after(level))

    def _steps(self, pipe: Pipe, level: int, sizes: Sizes) -> tuple[Op, ...]:
        if pipe.dim == ITERATION and any(_is_once(leaf) for leaf in (self.found.leaf, *self._sources())):
            return self._iterations(level, sizes)
        ops: list[Op] = []
        for count, cut in steps_in(pipe, sizes, self.section.flow.ends):
            body = self.script(level + 1, cut)
            ops += body if count == 1 else (Loop(count, body, pipe.dim),)
        # What is loaded in the first iteration only cannot be waited for in the others.
        if pipe.drain and not _is_once(self.found.leaf):
            inside = [found for found in placed(pipe.body) if not isinstance(found.leaf, Reorder)]
            name, roles = _drained(pipe, level), sum(not _is_once(found.leaf) for found in inside)
            ops += (Arrive(name), Await(name, roles))
        return tuple(ops)

    def _iterations(self, level: int, sizes: Sizes) -> tuple[Op, ...]:
        """The first iteration, with what is loaded once, and the others, to which it is handed on."""
        first = self.script(level + 1, {**sizes, ITERATION: 1})
        if _is_once(self.found.leaf):
            return first
        leaves = self.section.flow.leaves
        later = replace(self, read=[link for link in self.read if not _is_once(leaves[link.source].leaf)])
        return (*first, Loop(sizes[ITERATION] - 1, later.script(level + 1, {**sizes, ITERATION: 1}), ITERATION))

    def _sources(self) -> list[Leaf]:
        return [self.section.flow.leaves[link.source].leaf for link in self.read]

    def _before(self, level: int) -> list[Op]:
        ops: list[Op] = [Wait(link.name, link.readers.index(self.found.name)) for link in self._read_at(level)]
        ops += [Wait(name, reader) for name, reader in self._carried_to(level)]
        ops += [Acquire(link.name) for link in self._made_at(level)]
        for carry in self._carries():
            if level == 0:
                ops += [Acquire(carry.name), Commit(carry.name)]
            elif level == 1:
                ops.append(Acquire(carry.name))
        return ops

    def _after(self, level: int) -> list[Op]:
        ops: list[Op] = [Release(link.name, link.readers.index(self.found.name)) for link in self._read_at(level)]
        ops += [Release(name, reader) for name, reader in self._carried_to(level)]
        ops += [self._hand_on(link) for link in self._made_at(level)]
        if level == 1:
            ops += [
                self._arriving(carry.name, arrival_cycles(self.section, carry.source, carry.name))
                for carry in self._carries()
            ]
        if level == 0:
            # The last iteration's result stays where it is: its readers let it go.
            for name, reader in self._carried_to(1):
                ops += [Wait(name, reader), Release(name, reader)]
        return ops

    def _hand_on(self, link: Link) -> Op:
        return self._arriving(link.name, arrival_cycles(self.section, link.source, link.name))

    def _arriving(self, channel: str, latency_cycles: int) -> Op:
        """The tile is there at once, or when it has come its way."""
        if not latency_cycles:
            return Commit(channel)
        return Start(WAY, 0, latency_cycles, (Fill(channel),), label=self.found.name)

    def _read_at(self, level: int) -> list[Link]:
        return [link for link in self.read if link.level == level]

    def _made_at(self, level: int) -> list[Link]:
        return [link for link in self.made if link.level == level]

    def _carries(self) -> list[Carry | Spill]:
        return [carry for carry in self.handed if carry.source == self.found.name]

    def _carried_to(self, level: int) -> list[tuple[str, int]]:
        if level != 1:
            return []
        name = self.found.name
        return [(carry.name, carry.readers.index(name)) for carry in self.handed if name in carry.readers]
