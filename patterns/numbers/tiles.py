"""Loops over tiles: which dims of a node may be tiled, and which slice of a tensor a tile is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from patterns.axes import union, without
from patterns.count import node_dims
from patterns.graph import Graph, Node
from patterns.kind import has
from patterns.move import reaching, words
from patterns.plan import Tiling

# From and to (not included) by dim; dims that are not named are whole.
Ranges = Mapping[str, tuple[int, int]]


class PlanError(Exception):
    """A plan does not compute what its graph says: a bug of the lowering that made it."""


@dataclass(frozen=True)
class Loop:
    """One loop of a call. number: its place among the loops of the call, so that two over one dim differ."""

    dim: str
    extent: int
    number: int


@dataclass(frozen=True)
class Step:
    """Where a loop stands: in its first step, in its last (in both if it has one)."""

    loop: Loop
    first: bool
    last: bool


@dataclass(frozen=True)
class Level:
    """Loops and what runs in each of their steps, in order: nodes, and levels inside."""

    loops: tuple[Loop, ...]
    items: tuple[Node | Level, ...]


def level_of(tiling: Tiling, nodes: tuple[Node, ...], sizes: Mapping[str, int], first_number: int = 0) -> Level:
    """A tiling as levels. Raises PlanError for nests whose nodes are not consecutive nodes of the call."""
    for tile in tiling.loops:
        if tile.dim not in sizes:
            raise PlanError(f"a loop over {tile.dim!r}, which is no dim of the graph")
        if tile.extent < 1:
            raise PlanError(f"a loop over {tile.dim!r} has tiles of {tile.extent}")
    loops = tuple(Loop(tile.dim, tile.extent, first_number + at) for at, tile in enumerate(tiling.loops))
    number = first_number + len(loops)
    by_first = {nest.nodes[0]: nest for nest in tiling.nests}
    items: list[Node | Level] = []
    at = 0
    while at < len(nodes):
        nest = by_first.pop(nodes[at].name, None)
        if nest is None:
            items.append(nodes[at])
            at += 1
            continue
        inside = nodes[at : at + len(nest.nodes)]
        if tuple(node.name for node in inside) != nest.nodes:
            raise PlanError(f"a nest holds {nest.nodes}, and the call's nodes there are {[n.name for n in inside]}")
        level = level_of(nest.tiling, inside, sizes, number)
        number = 1 + max((loop.number for loop in loops_of(level)), default=number)
        items.append(level)
        at += len(nest.nodes)
    if by_first:
        raise PlanError(f"nests begin with {sorted(by_first)}, which are not nodes of the call, or in another nest")
    return Level(loops, tuple(items))


def loops_of(level: Level) -> Iterator[Loop]:
    """Every loop of a level and of those inside."""
    yield from level.loops
    for item in level.items:
        if isinstance(item, Level):
            yield from loops_of(item)


def paths(level: Level, above: tuple[Loop, ...] = ()) -> Iterator[tuple[Node, tuple[Loop, ...]]]:
    """Every node with the loops around it, outermost first."""
    around = (*above, *level.loops)
    for item in level.items:
        if isinstance(item, Level):
            yield from paths(item, around)
        else:
            yield item, around


def steps(
    loops: tuple[Loop, ...], sizes: Mapping[str, int], ranges: Ranges, above: tuple[Step, ...]
) -> Iterator[tuple[Ranges, tuple[Step, ...]]]:
    """Every step of nested loops: the range of each dim, and where each loop stands. The last takes what is left."""
    if not loops:
        yield ranges, above
        return
    loop, inner = loops[0], loops[1:]
    begin, end = ranges.get(loop.dim, (0, sizes[loop.dim]))
    for start in range(begin, end, loop.extent):
        stop = min(start + loop.extent, end)
        here = Step(loop, start == begin, stop == end)
        yield from steps(inner, sizes, {**ranges, loop.dim: (start, stop)}, (*above, here))


def tiled_dims(graph: Graph, node: Node) -> frozenset[str]:
    """Dims along which a node can run tile by tile: not those that it moves elements along, looks up along, or makes.

    Of dims that rows are scattered from, the first with more than one element: tiles of others would change the order
    in which rows are written, and the last of those with the same index stays.
    """
    dims = frozenset(node_dims(graph, node))
    tensors = graph.tensor_named
    if has(node, "moves"):
        kept = frozenset(tensors[node.writes].dims)
        for name in node.reads:
            kept &= frozenset(tensors[name].dims)
        return (kept | _reached(node)) - {node.along}
    dims -= new_dims(graph, node)
    if has(node, "updates"):
        dims -= frozenset([dim for dim in _scattered(graph, node) if graph.sizes[dim] > 1][1:])
    if has(node, "indexes") and node.along not in tensors[node.reads[1]].dims:
        return dims - {node.along}
    return dims


def _reached(node: Node) -> frozenset[str]:
    """New dims of a node that moves elements, where a tile of them is made of a part of what it reads."""
    return frozenset() if reaching(node) is None else frozenset(words(node, "to"))


def tile_of(graph: Graph, node: Node, ranges: Ranges) -> tuple[Node, Ranges]:
    """The node that makes a tile: itself for most, with the range along its dim that it reads if that is a part."""
    move = reaching(node) if has(node, "moves") else None
    new = words(node, "to") if move is not None else ()
    # A dim that keeps its name is moved along: it is whole.
    cut = [dim for dim in new if dim in ranges and dim != node.along]
    if move is None or not cut:
        return node, {}
    tile = {dim: ranges[dim] if dim in cut else (0, graph.sizes[dim]) for dim in new}
    made, part = move.part(node, tile, graph.sizes[node.along])
    return made, {node.along: part}


def new_dims(graph: Graph, node: Node) -> frozenset[str]:
    """Dims that the result has and nothing that is read: the elements that are selected of a row."""
    read = union(*(graph.tensor_named[name].dims for name in node.reads))
    return frozenset(without(graph.tensor_named[node.writes].dims, read))


def _scattered(graph: Graph, node: Node) -> tuple[str, ...]:
    """Dims of the rows along which several may be written to one place, in order."""
    tensors = graph.tensor_named
    return without(tensors[node.reads[2]].dims, set(tensors[node.writes].dims) - {node.along})


def accumulated_dims(graph: Graph, node: Node) -> frozenset[str]:
    """Dims whose tiles are gathered into one result: reduced, contracted, or scattered from."""
    if has(node, "updates"):
        return frozenset(_scattered(graph, node))
    return frozenset(node.over) if has(node, "reduces") or has(node, "contracts") else frozenset()


def carried_dims(node: Node) -> frozenset[str]:
    """Dims whose tiles come one after another, each from the state that the one before it leaves."""
    return frozenset({node.along}) if has(node, "carries") else frozenset()


def slices(graph: Graph, node: Node, name: str, position: int | None, ranges: Ranges) -> tuple[slice, ...]:
    """The tile of a tensor that a node touches: of the read at `position`, or of its result (None)."""
    tiled = tiled_dims(graph, node)
    table = has(node, "indexes") and (position == 0 or (position is None and has(node, "updates")))
    if table:
        tiled -= {node.along}
    inside = {dim: ranges[dim] for dim in tiled if dim in ranges}
    if position is not None:
        inside |= tile_of(graph, node, ranges)[1]
    return tuple(slice(*inside[dim]) if dim in inside else slice(None) for dim in graph.tensor_named[name].dims)
