"""What a prediction needs of a section: its nodes and loops, each node's share of the PCUs, what tiles cost."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Any, NamedTuple

from patterns.count import storage_of
from rdu_model.ask import Asked
from rdu_model.homes import Homes, Memory, first_memory, memory_of
from rdu_model.machine import Machine, usable_pcus
from rdu_model.price import grid
from rdu_model.tiles.ahead import Part, Unhidden
from rdu_model.tiles.layouts import Layouts, shared
from rdu_model.tiles.loops import (
    Body,
    Brought,
    Flows,
    Loops,
    Streaming,
    Tiled,
    all_nests,
    nodes_in,
)
from rdu_model.tiles.nests import Nest, Path, Shape
from rdu_model.tiles.outside import Outside, outside
from rdu_model.tiles.tile_costs import TileCosts, Touched

Tiles = Mapping[int, int]
MEMOS = ("opened", "held", "parts", "times", "direct", "bodies", "brought", "buffered")


@dataclass(frozen=True)
class Sketch:
    """One execution of a section whose nodes nest in one way; its tiles are open.

    slower: for tensors behind the first memory, how many of its bytes pass while one of theirs does.
    MEMOS: what was found once. By tiles: streams with the bytes that buffers hold and that pass (held), what follows
    one another with what is found of it quickly (parts), and cycles (times). By the parts of layouts and their
    tiles, as most stay when those of one loop change: what nodes take (nodes_took), those in a loop and none inside it
    (direct), loops with their streams' slots (bodies); what streams bring (brought), PMUs of buffers (buffered).
    """

    nodes: Mapping[str, Asked]
    shape: Shape
    sizes: Mapping[str, int]
    pcus: Mapping[str, int]
    machine: Machine
    memory: Memory
    slower: Mapping[str, Fraction]
    streaming: Outside
    costs: TileCosts
    opened: dict[frozenset[int], Loops] = field(default_factory=dict)
    held: dict[tuple[int, ...], tuple[Prediction, int, float]] = field(default_factory=dict)
    parts: dict[tuple[int, ...], tuple[list[Part], Unhidden]] = field(default_factory=dict)
    times: dict[tuple[tuple[int, ...], bool], float] = field(default_factory=dict)
    nodes_took: dict[tuple[str, bool, Hashable, int], Body] = field(default_factory=dict)
    direct: dict[Tiled, tuple[Body | None, ...]] = field(default_factory=dict)
    bodies: dict[tuple[int, Hashable, Hashable], Body] = field(default_factory=dict)
    brought: dict[Tiled, Brought] = field(default_factory=dict)
    buffered: dict[Tiled, int] = field(default_factory=dict)

    def loops(self, tiles: Tiles) -> Loops:
        """The section with those loops that have more than one step."""
        single = single_steps(self, tiles)
        if single not in self.opened:
            self.opened[single] = self.layouts.loops(single)
        return self.opened[single]

    @cached_property
    def layouts(self) -> Layouts:
        """Where the nodes stand, which other sections share."""
        nodes = tuple([asked.node for asked in self.nodes.values()])
        return shared(Layouts(nodes, self.shape, self.streaming.readings, tuple(self.streaming.leaving.items())))

    @cached_property
    def nests(self) -> tuple[Nest, ...]:
        """All nests, those inside after those around them."""
        return tuple(all_nests(self.shape))

    def touched(self, name: str, sizes: Mapping[str, int]) -> Touched:
        """Bytes of each read and of the result of a node on one tile."""
        return self.costs.touched(name, sizes)

    def tile_sizes(self, path: Path, tiles: Tiles) -> Mapping[str, int]:
        """Extents of all dims inside these loops."""
        return {**self.sizes, **{nest.dim: tiles[nest.key] for nest in path}} if path else self.sizes


@dataclass(frozen=True)
class Within:
    """What a prediction is to keep to: so many bytes of buffers. repeated: each execution in a call begins with the
    results of the one before it.
    """

    room_bytes: int
    repeated: bool = False


class Prediction(NamedTuple):
    """A sketch with tiles for its loops: what its streams bring and how they flow, together and one by one."""

    of: Sketch
    loops: Loops
    tiles: Tiles
    brought: Sequence[Brought]
    flows: Sequence[Flows]
    streams: Sequence[Streaming]
    slots: Sequence[int]


def sketches(nodes: Mapping[str, Asked], shapes: Iterable[Shape], machine: Machine, homes: Homes) -> Iterator[Sketch]:
    """A section, nested in these ways, ready for predictions."""
    sizes = next(iter(nodes.values())).graph.sizes
    first = Sketch(
        nodes=nodes,
        shape=(),
        sizes=sizes,
        pcus={},
        machine=machine,
        memory=first_memory(machine),
        slower=dict(_slower(nodes, machine, homes)) if homes.ddr else {},
        streaming=outside(nodes),
        costs=TileCosts(nodes, machine),
    )
    works = {
        name: grid(asked, sizes, machine).total_cycles
        for name, asked in nodes.items()
        if asked.unit_class in ("matrix", "vector")
    }
    for shape in shapes:
        pcus = _shares(works, shape, machine)
        memos: dict[str, Any] = {name: {} for name in MEMOS}
        yield replace(first, shape=shape, pcus=pcus, **memos)


def _slower(nodes: Mapping[str, Asked], machine: Machine, homes: Homes) -> Iterator[tuple[str, Fraction]]:
    first = first_memory(machine).pace
    for asked in nodes.values():
        for name in asked.node.reads:
            pace = memory_of(machine, homes, storage_of(asked.graph, name)).pace
            if pace != first:
                yield name, Fraction(first.amount * pace.cycles, first.cycles * pace.amount)


def single_steps(of: Sketch, tiles: Tiles) -> frozenset[int]:
    """The nests, by their keys, whose one tile is the whole dim."""
    return frozenset([nest.key for nest in of.nests if tiles[nest.key] >= of.sizes[nest.dim]])


def _shares(works: Mapping[str, int], shape: Shape, machine: Machine) -> dict[str, int]:
    """PCUs of each node, at least 1, as parallelisation shares them out: by its work over the root of its phase's."""
    parts: dict[str, float] = {}
    for item in shape:
        phase = {name: works[name] for name in nodes_in(item) if name in works}
        root = sqrt(max(1, sum(phase.values())))
        parts |= {name: work / root for name, work in phase.items()}
    total = sum(parts.values())
    return {name: max(1, int(usable_pcus(machine) * part / total)) for name, part in parts.items()}
