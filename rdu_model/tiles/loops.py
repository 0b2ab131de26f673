"""Where the nodes of a section stand to one another in its loops, and what streams in and out, and where."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from patterns.graph import Node
from rdu_model.tiles.nests import Nest, Path, Shape, paths_of
from rdu_model.tiles.outside import Reading
from rdu_model.tiles.picking import Pick, pick

# The number of a part of a layout, and the extents of the tiles of its loops.
Tiled = tuple[int, Hashable]


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

    @property
    def content(self) -> Hashable:
        """What it is, whatever the rest of the section."""
        return self.reader, self.number, tuple([nest.key for nest in self.around])


class Streaming(NamedTuple):
    """A stream with tiles of some size: bytes of one, and how many come in one execution. moved_bytes: that pass the
    first memory's streams while one comes.
    """

    slot_bytes: int
    tiles: int
    moved_bytes: int


class Flows(NamedTuple):
    """How streams flow: the slots of each, PMUs of all their buffers, bytes that come before they may; for nodes,
    or the first of those in the same loop, the bytes that may come before these start.
    """

    slots: tuple[int, ...]
    pmus: int
    early_bytes: int
    ahead: tuple[tuple[str, int], ...]


class Brought(NamedTuple):
    """Streams whose readers are in the same loops, with tiles for these. ahead_bytes: of those that may run ahead, in
    one execution. moved_bytes: of all, as they pass the first memory's streams. first: for nodes, or the first
    of those in the same loop, what comes once, before these start. flows: by the bytes of all that may run ahead.
    """

    streams: tuple[Streaming, ...]
    ahead_bytes: int
    moved_bytes: int
    first: tuple[tuple[str, int], ...]
    flows: dict[int, Flows]


@dataclass(frozen=True)
class Beside:
    """Nodes in the same loops, or buffers by the nodes that make them, and what streams to these. tiles: of the
    loops. same: the number that this has in all layouts that have the same together.
    """

    same: int
    path: Path
    tiles: Pick
    names: tuple[str, ...]
    inflows: tuple[Inflow, ...] = ()


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

    row: what it is, from outside. needs: for each loop, by its key, what each item of its body reads from.
    streaming: streams by the loops around their readers; at: by the key of each loop, the numbers of those that bring
    a tile in each of its steps, counted in this order. stored: nodes whose result leaves the chip when a loop is done,
    by its key, or with each of their tiles (0). buffered: nodes by the loops that they share with all that read their
    result, so that a buffer holds what is made in one of their steps.
    Of what is found of all streams or tiles, what a loop's body depends on, by its key: slots (of streams that bring a
    tile in steps of it or of those in it), tiles (of it, those in it and around it), outer (of it and those around it).
    same: a number for each loop, by its key, and for the row (0): two layouts have the same where they have the same
    nodes, loops and streams there, however the rest of the section is.
    """

    row: Row
    needs: Mapping[int, tuple[tuple[int, ...], ...]]
    streaming: tuple[Beside, ...]
    at: Mapping[int, tuple[int, ...]]
    stored: Mapping[int, tuple[str, ...]]
    buffered: tuple[Beside, ...]
    slots: Mapping[int, Pick]
    tiles: Mapping[int, Pick]
    outer: Mapping[int, Pick]
    same: Mapping[int, int]


def lay_out(
    nodes: Mapping[str, Node],
    shape: Shape,
    readings: Iterable[Reading],
    leaving: Mapping[str, tuple[str, ...]],
    numbers: dict[Hashable, int],
) -> Loops:
    """The nodes of a block in these loops. leaving: dims of results that leave the chip, by their node. numbers: of
    parts of layouts of the same nodes, by their content; new ones are added.
    """
    paths = dict(paths_of(shape))
    streaming = tuple(_streaming(paths, _inflows(paths, readings), numbers))
    inflows = [inflow for beside in streaming for inflow in beside.inflows]
    nests = all_nests(shape)
    inside = {nest.key: [inner.key for inner in all_nests((nest,))] for nest in nests}
    within = {key: [n for n, inflow in enumerate(inflows) if inflow.key in keys] for key, keys in inside.items()}
    around = dict(_around(shape, ()))
    # When results are stored follows from the loops around their nodes.
    contents: dict[int, Hashable] = {
        nest.key: (nest, around[nest.key], tuple([inflows[number].content for number in within[nest.key]]))
        for nest in nests
    }
    contents[0] = tuple([item if isinstance(item, str) else None for item in shape])
    return Loops(
        row=_row(nodes, shape),
        needs={nest.key: _row(nodes, nest.body).needs for nest in nests},
        streaming=streaming,
        at={key: tuple([number for number in found if inflows[number].key == key]) for key, found in within.items()},
        stored=_stored(paths, leaving),
        buffered=tuple(_beside(_kept(nodes, paths), numbers)),
        slots={key: pick(found) for key, found in within.items()},
        tiles={key: pick((*around[key], *keys)) for key, keys in inside.items()},
        outer={key: pick((*keys, key)) for key, keys in around.items()},
        same={key: numbers.setdefault(content, len(numbers)) for key, content in contents.items()},
    )


def _kept(nodes: Mapping[str, Node], paths: Mapping[str, Path]) -> dict[str, Path]:
    """The loops that each node shares with all that read its result."""
    makers = {node.writes: name for name, node in nodes.items()}
    kept = dict(paths)
    for name, node in nodes.items():
        for read in node.reads:
            if read in makers:
                maker = makers[read]
                kept[maker] = tuple(a for a, b in zip(kept[maker], paths[name], strict=False) if a is b)
    return kept


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


def _streaming(paths: Mapping[str, Path], inflows: Iterable[Inflow], numbers: dict[Hashable, int]) -> Iterator[Beside]:
    """Streams by the loops around their readers."""
    found: dict[str, list[Inflow]] = {}
    for inflow in inflows:
        found.setdefault(inflow.reader, []).append(inflow)
    for beside in _beside({reader: paths[reader] for reader in found}, numbers):
        coming = tuple([inflow for name in beside.names for inflow in found[name]])
        content = beside.same, tuple([inflow.content for inflow in coming])
        yield replace(beside, same=numbers.setdefault(content, len(numbers)), inflows=coming)


def _beside(paths: Mapping[str, Path], numbers: dict[Hashable, int]) -> Iterator[Beside]:
    """Nodes by the loops around them."""
    found: dict[tuple[int, ...], list[str]] = {}
    for name, path in paths.items():
        found.setdefault(tuple([nest.key for nest in path]), []).append(name)
    for keys, names in found.items():
        content = keys, tuple(names)
        yield Beside(numbers.setdefault(content, len(numbers)), paths[names[0]], pick(keys), tuple(names))


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
