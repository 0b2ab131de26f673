"""What a prediction needs of a section: its nodes and loops, each node's share of the PCUs, what tiles cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import sqrt

from patterns.count import storage_of
from patterns.graph import Block
from rdu_model.ask import Asked
from rdu_model.collective import exchange
from rdu_model.homes import Homes, Memory, first_memory, memory_of
from rdu_model.loops import Loops, Run, all_nests, handed_on, lay_out, nodes_in, without
from rdu_model.machine import Machine, grid_columns, grid_rows, usable_pcus
from rdu_model.nests import Path, Shape
from rdu_model.price import cycles, grid

Tiles = Mapping[int, int]
# Execution n + 1 begins while execution n ends: what one hands to the next has two slots.
CARRY_SLOTS = 2


@dataclass(frozen=True)
class Sketch:
    """A section whose nodes nest in one way; its tiles are open.

    carried_bytes: the buffers of what one execution hands to the next in the same call, which makes each of them begin
    where the one before it ends. slower: for tensors behind the first memory, how many of its bytes pass while one of
    theirs does. opened, known, moved: what was found once.
    """

    block: Block
    nodes: Mapping[str, Asked]
    shape: Shape
    sizes: Mapping[str, int]
    pcus: Mapping[str, int]
    run: Run
    carried_bytes: int
    machine: Machine
    memory: Memory
    slower: Mapping[str, Fraction]
    opened: dict[frozenset[int], Loops] = field(default_factory=dict)
    known: dict[tuple[str, tuple[int, ...]], int] = field(default_factory=dict)
    moved: dict[tuple[str, tuple[int, ...]], tuple[tuple[int, ...], int]] = field(default_factory=dict)

    def loops(self, tiles: Tiles) -> Loops:
        """The section with those loops that have more than one step."""
        single = single_steps(self, tiles)
        if single not in self.opened:
            self.opened[single] = lay_out(self.block, self.nodes, without(self.shape, single), self.run)
        return self.opened[single]

    @property
    def repeated(self) -> bool:
        """Whether each execution in a call begins with the results of the one before it."""
        return self.run.executions > 1 and bool(self.block.carried)

    def stage_cycles(self, name: str, sizes: Mapping[str, int]) -> int:
        """Cycles of a node on one tile."""
        asked = self.nodes[name]
        key = (name, tuple([sizes[dim] for dim in asked.dims]))
        if key not in self.known:
            self.known[key] = self._cycles(name, asked, sizes)
        return self.known[key]

    def _cycles(self, name: str, asked: Asked, sizes: Mapping[str, int]) -> int:
        if asked.unit_class == "network":
            return exchange(asked, sizes, self.machine).cycles
        moves = asked.unit_class == "memory"
        return self.machine.step_cycles + (0 if moves else cycles(grid(asked, sizes, self.machine), self.pcus[name]))

    def latency_cycles(self, name: str) -> int:
        """Cycles from the end of a node's work until its result is there: of the way, and of trips between sockets."""
        asked = self.nodes[name]
        trips = exchange(asked, self.sizes, self.machine).latency_cycles if asked.unit_class == "network" else 0
        return trips + self.way_cycles

    @property
    def way_cycles(self) -> int:
        """Cycles of a way as long as two places on the fabric are apart on average."""
        return self.machine.hop_cycles * (grid_rows(self.machine) + grid_columns(self.machine)) // 3

    def touched(self, name: str, sizes: Mapping[str, int]) -> tuple[tuple[int, ...], int]:
        """Bytes of each read and of the result of a node on one tile."""
        asked = self.nodes[name]
        key = (name, tuple([sizes[dim] for dim in asked.dims]))
        if key not in self.moved:
            self.moved[key] = asked.touched(sizes)
        return self.moved[key]

    def tile_sizes(self, path: Path, tiles: Tiles) -> Mapping[str, int]:
        """Extents of all dims inside these loops."""
        return {**self.sizes, **{nest.dim: tiles[nest.key] for nest in path}} if path else self.sizes


def sketch(block: Block, nodes: Mapping[str, Asked], shape: Shape, machine: Machine, run: Run) -> Sketch:
    """A nested section of a block, ready for predictions."""
    sizes = next(iter(nodes.values())).graph.sizes
    handed = handed_on(block, nodes, run)
    carried = sum(asked.touched(sizes)[1] for asked in nodes.values() if asked.node.writes in handed)
    return Sketch(
        block=block,
        nodes=nodes,
        shape=shape,
        sizes=sizes,
        pcus=_shares(nodes, shape, sizes, machine),
        run=run,
        carried_bytes=CARRY_SLOTS * carried,
        machine=machine,
        memory=first_memory(machine),
        slower=dict(_slower(nodes, machine, run.homes)) if run.homes.ddr else {},
    )


def _slower(nodes: Mapping[str, Asked], machine: Machine, homes: Homes) -> Iterator[tuple[str, Fraction]]:
    first = first_memory(machine).pace
    for asked in nodes.values():
        for name in asked.node.reads:
            pace = memory_of(machine, homes, storage_of(asked.graph, name)).pace
            if pace != first:
                yield name, Fraction(first.amount * pace.cycles, first.cycles * pace.amount)


def single_steps(of: Sketch, tiles: Tiles) -> frozenset[int]:
    """The nests, by their keys, whose one tile is the whole dim."""
    return frozenset(nest.key for nest in all_nests(of.shape) if tiles[nest.key] >= of.sizes[nest.dim])


def _shares(nodes: Mapping[str, Asked], shape: Shape, sizes: Mapping[str, int], machine: Machine) -> dict[str, int]:
    """PCUs of each node, at least 1, as parallelisation shares them out: by its work over the root of its phase's."""
    works: dict[str, float] = {}
    for item in shape:
        phase = {
            name: grid(nodes[name], sizes, machine).total_cycles
            for name in nodes_in(item)
            if nodes[name].unit_class in ("matrix", "vector")
        }
        root = sqrt(max(1, sum(phase.values())))
        works |= {name: work / root for name, work in phase.items()}
    total = sum(works.values())
    return {name: max(1, int(usable_pcus(machine) * work / total)) for name, work in works.items()}
