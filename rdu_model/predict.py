"""The time of a nested section in closed form, for choosing tiles: the simulation says what it really is.

A loop of n steps over a body takes the body's fill once and its interval n - 1 times: the slowest part of the body, or
the time of its bytes from HBM, which all streams share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from patterns.count import storage_of
from rdu_model.ask import Asked
from rdu_model.collective import exchange
from rdu_model.homes import Homes, Memory, first_memory, memory_of
from rdu_model.machine import Machine, usable_pcus
from rdu_model.nests import Nest
from rdu_model.price import cycles, grid

Tiles = Mapping[int, int]
Shape = tuple[str | Nest, ...]
Path = tuple[Nest, ...]
# Bytes that are read in one step of each loop, and bytes that buffers hold.
Sum = tuple[dict[int, int], int]
# Of one step of a loop: its fill, its slowest stage, its own bytes, all bytes.
Body = tuple[int, int, int, int]


@dataclass(frozen=True)
class Sketch:
    """What a prediction needs: the nodes, how they are nested, each node's share of the PCUs.

    paths: the nests around each node. kept: those that a node shares with all that read its result, so that a buffer
    holds what is made in one of their steps. needs: for each body (by key of its nest, 0 for the section), the earlier
    items that each item reads from. outside: (position of the read, key of the innermost nest that cuts it) of what
    each node reads from off-chip memory. slower: for tensors behind the first memory, how many of its bytes pass while
    one of theirs does.
    """

    nodes: Mapping[str, Asked]
    shape: Shape
    sizes: Mapping[str, int]
    pcus: Mapping[str, int]
    paths: Mapping[str, Path]
    kept: Mapping[str, Path]
    needs: Mapping[int, tuple[tuple[int, ...], ...]]
    outside: Mapping[str, tuple[tuple[int, int], ...]]
    machine: Machine
    memory: Memory
    slower: Mapping[str, Fraction]
    known: dict[tuple[str, tuple[int, ...]], int] = field(default_factory=dict)
    moved: dict[tuple[str, tuple[int, ...]], tuple[tuple[int, ...], int]] = field(default_factory=dict)
    sums: dict[tuple[int, tuple[int, ...]], Sum] = field(default_factory=dict)
    bodies: dict[tuple[int, tuple[int, ...]], Body] = field(default_factory=dict)

    @cached_property
    def together(self) -> tuple[tuple[Path, tuple[str, ...]], ...]:
        """The nodes by the nests around them."""
        found: dict[tuple[int, ...], tuple[Path, list[str]]] = {}
        for name, path in self.paths.items():
            found.setdefault(tuple(nest.key for nest in path), (path, []))[1].append(name)
        return tuple((path, tuple(names)) for path, names in found.values())

    @cached_property
    def deciding(self) -> Mapping[int, tuple[int, ...]]:
        """For each nest the keys of those around it, itself and those in it: their tiles decide what a step takes."""
        return dict(_deciding(self.shape, ()))

    def stage_cycles(self, name: str, sizes: Mapping[str, int]) -> int:
        """Cycles of a node on one tile, remembered."""
        asked = self.nodes[name]
        key = (name, tuple([sizes[dim] for dim in asked.dims]))
        if key not in self.known:
            self.known[key] = self._worked(asked, sizes) + self.machine.step_cycles
        return self.known[key]

    def _worked(self, asked: Asked, sizes: Mapping[str, int]) -> int:
        """Cycles on PCUs or, where a section does nothing but sum over sockets, on the links.

        Beside other work links choose no tiles: they are busy for as many cycles whatever these are.
        """
        if asked.unit_class == "network" and len(self.nodes) == 1:
            return exchange(asked, sizes, self.machine).cycles
        bare = asked.unit_class in ("network", "memory")
        return 0 if bare else cycles(grid(asked, sizes, self.machine), self.pcus[asked.node.name])

    def touched(self, name: str, sizes: Mapping[str, int]) -> tuple[tuple[int, ...], int]:
        """Bytes of each read and of the result of a node on one tile, remembered."""
        asked = self.nodes[name]
        key = (name, tuple([sizes[dim] for dim in asked.dims]))
        if key not in self.moved:
            self.moved[key] = asked.touched(sizes)
        return self.moved[key]

    def tile_sizes(self, path: Path, tiles: Tiles) -> Mapping[str, int]:
        """Extents of all dims inside these nests."""
        return {**self.sizes, **{nest.dim: tiles[nest.key] for nest in path}}


def sketch(
    nodes: Mapping[str, Asked], shape: Shape, sizes: Mapping[str, int], machine: Machine, homes: Homes
) -> Sketch:
    """A nested section, ready for predictions."""
    paths = dict(_paths(shape))
    makers = {asked.node.writes: name for name, asked in nodes.items()}
    kept = dict(paths)
    outside: dict[str, list[tuple[int, int]]] = {name: [] for name in nodes}
    for name, asked in nodes.items():
        for number, read in enumerate(asked.node.reads):
            if read in makers:
                maker = makers[read]
                kept[maker] = tuple(a for a, b in zip(kept[maker], paths[name], strict=False) if a is b)
            if read not in makers or asked.graph.tensor_named[read].shares:
                cutting = [nest.key for nest in paths[name] if nest.dim in asked.cutting(number)]
                outside[name].append((number, cutting[-1] if cutting else 0))
    return Sketch(
        nodes=nodes,
        shape=shape,
        sizes=sizes,
        pcus=_shares(nodes, sizes, machine),
        paths=paths,
        kept=kept,
        needs=dict(_needs(nodes, shape, 0)),
        outside={name: tuple(found) for name, found in outside.items()},
        machine=machine,
        memory=first_memory(machine),
        slower=dict(_slower(nodes, machine, homes)) if homes.ddr else {},
    )


def _slower(nodes: Mapping[str, Asked], machine: Machine, homes: Homes) -> Iterator[tuple[str, Fraction]]:
    first = first_memory(machine).pace
    for asked in nodes.values():
        for name in asked.node.reads:
            pace = memory_of(machine, homes, storage_of(asked.graph, name)).pace
            if pace != first:
                yield name, Fraction(first.amount * pace.cycles, first.cycles * pace.amount)


def _needs(nodes: Mapping[str, Asked], shape: Shape, key: int) -> Iterator[tuple[int, tuple[tuple[int, ...], ...]]]:
    """Of this body and of those inside."""
    inside = [[item] if isinstance(item, str) else [name for name, _ in _paths(item.body)] for item in shape]
    made_by = {nodes[name].node.writes: number for number, names in enumerate(inside) for name in names}
    found = []
    for number, names in enumerate(inside):
        read = {made_by.get(tensor, number) for name in names for tensor in nodes[name].node.reads}
        found.append(tuple(sorted(read - {number})))
    yield key, tuple(found)
    for item in shape:
        if isinstance(item, Nest):
            yield from _needs(nodes, item.body, item.key)


def _paths(shape: Shape, path: Path = ()) -> Iterator[tuple[str, Path]]:
    for item in shape:
        if isinstance(item, Nest):
            yield from _paths(item.body, (*path, item))
        else:
            yield item, path


def _deciding(shape: Shape, around: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
    for item in shape:
        if isinstance(item, Nest):
            yield item.key, (*around, item.key, *(nest.key for nest in all_nests(item.body)))
            yield from _deciding(item.body, (*around, item.key))


def _shares(nodes: Mapping[str, Asked], sizes: Mapping[str, int], machine: Machine) -> dict[str, int]:
    """PCUs of each node in proportion to its work, at least 1."""
    works = {
        name: grid(asked, sizes, machine).total_cycles
        for name, asked in nodes.items()
        if asked.unit_class in ("matrix", "vector")
    }
    total = sum(works.values())
    return {name: max(1, usable_pcus(machine) * work // total) for name, work in works.items()}


def predict(of: Sketch, tiles: Tiles, room_bytes: int) -> float:
    """Cycles of one execution of a section with these tiles; far more where buffers would not fit."""
    read, held = _bytes(of, tiles)
    pace = of.memory.pace
    fill, _, direct, moved = _step(of, of.shape, 0, dict(of.sizes), tiles, read)
    busy = pace.cycles_for(moved)
    # While one loop fills, streams of the next run ahead, as far as the machine has room for them.
    ahead = pace.cycles_for(of.machine.prefetch_bytes) * (len([x for x in of.shape if isinstance(x, Nest)]) - 1)
    time = busy + max(0, pace.cycles_for(direct) + fill - busy - max(0, ahead))
    return time * (1 + 10 * max(0, held - room_bytes) / max(1, room_bytes))


def _bytes(of: Sketch, tiles: Tiles) -> tuple[dict[int, int], int]:
    """Bytes from off-chip memory in one step of each loop (0: outside all), and bytes that buffers hold."""
    read: dict[int, int] = {}
    held = 0
    for number, (path, names) in enumerate(of.together):
        key = (number, tuple([tiles[nest.key] for nest in path]))
        if key not in of.sums:
            of.sums[key] = _bytes_of(of, names, tiles)
        inside, more = of.sums[key]
        held += more
        for at, moved in inside.items():
            read[at] = read.get(at, 0) + moved
    return read, held


def _bytes_of(of: Sketch, names: Sequence[str], tiles: Tiles) -> Sum:
    """The same of some nodes."""
    read: dict[int, int] = {}
    held = 0
    for name in names:
        path, kept = of.paths[name], of.kept[name]
        reads, out = of.touched(name, of.tile_sizes(path, tiles))
        if kept is not path:
            out = of.touched(name, of.tile_sizes(kept, tiles))[1]
        held += (2 if kept else 1) * out
        for number, at in of.outside[name]:
            slower = of.slower.get(of.nodes[name].node.reads[number], 1)
            read[at] = read.get(at, 0) + int(reads[number] * slower)
            held += (2 if at else 1) * reads[number]
    return read, held


def _step(of: Sketch, shape: Shape, key: int, sizes: dict[str, int], tiles: Tiles, read: Mapping[int, int]) -> Body:
    """Of one step of a loop: its fill (the longest path through the body), the cycles of its slowest stage, its own
    bytes from HBM, and those with loops inside. Loops inside stream on: they hold nobody up but with their stages.
    """
    direct = moved = read.get(key, 0)
    slowest = 0
    ends: list[int] = []
    for item, needed in zip(shape, of.needs[key], strict=True):
        if isinstance(item, Nest):
            extent = tiles[item.key]
            known = (item.key, tuple([tiles[key] for key in of.deciding[item.key]]))
            if known not in of.bodies:
                of.bodies[known] = _step(of, item.body, item.key, {**sizes, item.dim: extent}, tiles, read)
            inner = of.bodies[known]
            trips = -(-of.sizes[item.dim] // extent)
            took = _loop(of, inner, trips)
            slowest = max(slowest, trips * inner[1])
            moved += trips * inner[3]
        else:
            took = of.stage_cycles(item, sizes)
            slowest = max(slowest, took)
        ends.append(max((ends[number] for number in needed), default=0) + took)
    return max(ends, default=0), slowest, direct, moved


def _loop(of: Sketch, body: Body, trips: int) -> int:
    """A stream's two slots must cover the memory's latency: with less bytes a step, latency is what it takes."""
    fill, slowest, direct, moved = body
    pace = of.memory.pace
    least = -(-of.memory.latency_cycles // 2) if direct else 0
    return pace.cycles_for(direct) + fill + (trips - 1) * max(slowest, pace.cycles_for(moved), least)


def all_nests(shape: Shape) -> list[Nest]:
    """Every nest, those inside after those around them."""
    found: list[Nest] = []
    for item in shape:
        if isinstance(item, Nest):
            found += [item, *all_nests(item.body)]
    return found
