"""Where the nodes of a section stand to one another in its loops, and what streams in and out, and where."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from patterns.graph import Node
from rdu_model.ask import Asked
from rdu_model.connect import is_stored
from rdu_model.nests import Nest, Path, Shape, paths_of
from rdu_model.streams import Stream

Thing = TypeVar("Thing")
# Loops, by their keys, and the extents of their tiles.
Tiled = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class Inflow:
    """A stream from off-chip memory: read `number` of the node `reader`, a tile in each step of the loops `around`.

    ahead: of weights or states, which may run ahead of their readers.
    """

    reader: str
    number: int
    around: Path
    ahead: bool

    @property
    def key(self) -> int:
        """The innermost of these loops, 0 if there is none."""
        return self.around[-1].key if self.around else 0


class Flowing(NamedTuple):
    """A stream with tiles of some sizes: its slots, and how many bytes it may hold before its readers start.

    moved_bytes: that pass the first memory's streams meanwhile. total_bytes: of these in one execution. pmus: of its
    buffer.
    """

    slot_bytes: int
    moved_bytes: int
    slots: int
    allowed_bytes: int
    ahead_bytes: int
    total_bytes: int
    pmus: int


@dataclass(frozen=True)
class Row:
    """Nodes and loops that follow one another. needs: for each the items that it reads from. holds: the item that each
    node is in.
    """

    items: Shape
    needs: tuple[tuple[int, ...], ...]
    holds: Mapping[str, int]


class Body(NamedTuple):
    """One step of a loop, or one node: cycles from its first tile to its last result; of its slowest stage; after its
    last byte came until its last is sent; bytes from and to off-chip memory, and of these those to it.
    """

    fill: int
    slowest: int
    tail: int
    moved: int
    stored: int


@dataclass(frozen=True)
class Loops:
    """A section with these loops.

    row: what it is, from outside. paths: the loops around each node. kept: those that a node shares with all that read
    its result, so that a buffer holds what is made in one of their steps. needs: for each loop, by its key, what each
    item of its body reads from. stored: nodes whose result leaves the chip when a loop is done, by its key, or with
    each of their tiles (0). inside, around: by the key of each loop, it and those in it, and those it is in.
    tiled: the numbers of streams whose readers are in the same loops, by these loops' keys. at, within: of those that
    bring a tile in each step of a loop, and in steps of that and those in it. buffered: nodes by what `kept` has.
    bodies, streams, held: what loops were found to take, streams to bring (and in bytes those that may run ahead),
    buffers to hold, by their tiles; flows: how streams flow, by the bytes of all that may run ahead, too; direct: what
    nodes take that are in a loop and none inside it; whole: what nodes outside all loops take.
    """

    row: Row
    paths: Mapping[str, Path]
    kept: Mapping[str, Path]
    needs: Mapping[int, tuple[tuple[int, ...], ...]]
    inflows: tuple[Inflow, ...]
    stored: Mapping[int, tuple[str, ...]]
    inside: Mapping[int, tuple[int, ...]]
    around: Mapping[int, tuple[int, ...]]
    tiled: Mapping[tuple[int, ...], tuple[int, ...]]
    at: Mapping[int, tuple[int, ...]]
    within: Mapping[int, tuple[int, ...]]
    buffered: Mapping[tuple[int, ...], tuple[str, ...]]
    bodies: dict[tuple[object, ...], Body] = field(default_factory=dict)
    streams: dict[Tiled, tuple[tuple[Stream, ...], int]] = field(default_factory=dict)
    flows: dict[tuple[Tiled, int], tuple[Flowing, ...]] = field(default_factory=dict)
    direct: dict[tuple[int, tuple[int, ...]], tuple[Body | None, ...]] = field(default_factory=dict)
    held: dict[Tiled, int] = field(default_factory=dict)
    whole: dict[str, Body] = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """A read that comes from off-chip memory, whatever the loops. cutting: dims along which steps need other elements.

    part: whether the node takes a part of the tensor. ahead: of weights or states.
    """

    reader: str
    number: int
    tensor: str
    cutting: frozenset[str]
    part: bool
    ahead: bool


@dataclass(frozen=True)
class Outside:
    """What an execution of a section has from and to off-chip memory, whatever the loops.

    leaving: dims of results, by their node.
    """

    readings: tuple[Reading, ...]
    leaving: Mapping[str, tuple[str, ...]]


def outside(nodes: Mapping[str, Asked]) -> Outside:
    """What the nodes of a section read and store there."""
    leaving = {
        name: asked.graph.tensor_named[asked.node.writes].dims
        for name, asked in nodes.items()
        if is_stored(asked.graph, nodes, asked.node.writes)
    }
    return Outside(tuple(_readings(nodes)), leaving)


def _readings(nodes: Mapping[str, Asked]) -> Iterator[Reading]:
    made = {asked.node.writes for asked in nodes.values()}
    for name, asked in nodes.items():
        for number, read in enumerate(asked.node.reads):
            tensor = asked.graph.tensor_named[read]
            if read in made and not tensor.shares:
                continue
            role = asked.graph.tensor_named[tensor.shares or tensor.name].role
            part, ahead = asked.takes_part(number), role in ("weight", "state")
            yield Reading(name, number, read, asked.cutting(number), part, ahead)


def lay_out(
    nodes: Mapping[str, Node], shape: Shape, readings: Iterable[Reading], leaving: Mapping[str, tuple[str, ...]]
) -> Loops:
    """The nodes of a block in these loops. leaving: dims of results that leave the chip, by their node."""
    paths = dict(paths_of(shape))
    makers = {node.writes: name for name, node in nodes.items()}
    kept = dict(paths)
    for name, node in nodes.items():
        for read in node.reads:
            if read in makers:
                maker = makers[read]
                kept[maker] = tuple(a for a, b in zip(kept[maker], paths[name], strict=False) if a is b)
    inflows = tuple(_inflows(paths, readings))
    inside = {nest.key: tuple(inner.key for inner in all_nests((nest,))) for nest in all_nests(shape)}
    return Loops(
        row=_row(nodes, shape),
        paths=paths,
        kept=kept,
        needs={nest.key: _row(nodes, nest.body).needs for nest in all_nests(shape)},
        inflows=inflows,
        stored=_stored(paths, leaving),
        inside=inside,
        around=dict(_around(shape, ())),
        tiled=_by_loops({number: paths[inflow.reader] for number, inflow in enumerate(inflows)}),
        at={key: tuple(n for n, inflow in enumerate(inflows) if inflow.key == key) for key in inside},
        within={key: tuple(n for n, one in enumerate(inflows) if one.key in keys) for key, keys in inside.items()},
        buffered=_by_loops(kept),
    )


def _inflows(paths: Mapping[str, Path], readings: Iterable[Reading]) -> Iterator[Inflow]:
    """Each stream once, with its first reader."""
    seen = set()
    for one in readings:
        path = paths[one.reader]
        cutting = [depth for depth, nest in enumerate(path) if nest.dim in one.cutting]
        around = path[: cutting[-1] + 1] if cutting else ()
        how = (one.tensor, tuple([nest.key for nest in around]), one.part and one.reader)
        if how not in seen:
            seen.add(how)
            yield Inflow(one.reader, one.number, around, one.ahead)


def _by_loops(paths: Mapping[Thing, Path]) -> dict[tuple[int, ...], tuple[Thing, ...]]:
    """Things by the loops around them."""
    found: dict[tuple[int, ...], list[Thing]] = {}
    for thing, path in paths.items():
        found.setdefault(tuple([nest.key for nest in path]), []).append(thing)
    return {keys: tuple(things) for keys, things in found.items()}


def _stored(paths: Mapping[str, Path], leaving: Mapping[str, tuple[str, ...]]) -> dict[int, tuple[str, ...]]:
    """Tiles are complete, and stored, when the outermost loop is done that does not cut them."""
    found: dict[int, tuple[str, ...]] = {}
    for name, dims in leaving.items():
        whole = [nest.key for nest in paths[name] if nest.dim not in dims]
        key = whole[0] if whole else 0
        found[key] = (*found.get(key, ()), name)
    return found


def _row(nodes: Mapping[str, Node], items: Shape) -> Row:
    inside = [[item] if isinstance(item, str) else [name for name, _ in paths_of(item.body)] for item in items]
    holds = {name: number for number, names in enumerate(inside) for name in names}
    made_by = {nodes[name].writes: number for name, number in holds.items()}
    needs = []
    for number, names in enumerate(inside):
        read = {made_by.get(tensor, number) for name in names for tensor in nodes[name].reads}
        needs.append(tuple(sorted(read - {number})))
    return Row(items, tuple(needs), holds)


def _around(shape: Shape, keys: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
    for item in shape:
        if isinstance(item, Nest):
            yield item.key, keys
            yield from _around(item.body, (*keys, item.key))


def nodes_in(item: str | Nest) -> list[str]:
    """The nodes of an item."""
    return [name for name, _ in paths_of((item,))]


def all_nests(shape: Shape) -> list[Nest]:
    """Every nest, those inside after those around them."""
    found: list[Nest] = []
    for item in shape:
        if isinstance(item, Nest):
            found += [item, *all_nests(item.body)]
    return found
