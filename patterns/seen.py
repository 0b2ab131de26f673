"""What nodes see of a graph: graphs that agree in it share what is found for these nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from patterns.axes import points, union, without
from patterns.graph import Graph, Node
from patterns.kind import has, kind_of
from patterns.pipeline.hashed import hashed_once
from patterns.structure import structure_of

# Elements of each operand of a node, in order, and of its result.
Elements = tuple[tuple[int, ...], int]


@hashed_once
@dataclass(frozen=True)
class Seen:
    """A structure with nothing but the tensors that nodes read and write, and the dims of these and of themselves."""

    structure: Graph
    dims: tuple[str, ...]


def part_of(graph: Graph, nodes: Sequence[Node]) -> Graph:
    """Of a graph the tensors that nodes see and their extents: the same for all graphs that agree in these."""
    seen, sizes = seen_by(structure_of(graph), tuple(nodes)), graph.sizes
    return _part(seen, tuple([(dim, sizes[dim]) for dim in seen.dims if dim in sizes]))


def part_with_rows(graph: Graph, nodes: Sequence[Node]) -> Graph:
    """`part_of`, but of a dim along which nodes only write rows into states there is no more than has room for these.

    What it costs to write the rows is the same in a longer state, so that graphs that differ in that share it.
    """
    structure, sizes, among = structure_of(graph), graph.sizes, tuple(nodes)
    seen, written = seen_by(structure, among), _rows_along(structure, among)
    least = {dim: max([points(dims, sizes) for dims in rows]) for dim, rows in written}
    extents = [(dim, min(sizes[dim], least.get(dim, sizes[dim]))) for dim in seen.dims if dim in sizes]
    return _part(seen, tuple(extents))


@lru_cache(maxsize=4096)
def _rows_along(structure: Graph, nodes: tuple[Node, ...]) -> tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]:
    """Dims that nodes have only in states of which they read nothing and write rows; with the dims of rows of each."""
    one = dict.fromkeys(seen_by(structure, nodes).dims, 1)
    found: dict[str, list[tuple[str, ...]]] = {}
    others: set[str] = set()
    for node in nodes:
        operands = [structure.tensor_named[name].dims for name in node.reads]
        result = structure.tensor_named[node.writes]
        if has(node, "updates") and result.shares and not kind_of(node).touched(node, structure, one)[0][0]:
            found.setdefault(node.along, []).append(without(operands[2], result.dims))
            others.update(*operands[1:], without(result.dims, (node.along,)), node.over)
        else:
            others.update(*operands, result.dims, node.over, (node.along,))
    return tuple((dim, tuple(rows)) for dim, rows in found.items() if dim not in others)


@lru_cache(maxsize=8192)
def _part(seen: Seen, extents: tuple[tuple[str, int], ...]) -> Graph:
    return replace(seen.structure, extents=extents)


@lru_cache(maxsize=4096)
def seen_by(structure: Graph, nodes: tuple[Node, ...]) -> Seen:
    """What all graphs of a structure have of some nodes."""
    names = union(*((*node.reads, node.writes) for node in nodes))
    shared = (structure.tensor_named[name].shares for name in names)
    tensors = [structure.tensor_named[name] for name in union(names, filter(None, shared))]
    named = union(*(tensor.dims for tensor in tensors), *((*node.over, node.along) for node in nodes))
    return Seen(structure_of(Graph("", (), tuple(tensors), ())), named)


@lru_cache(maxsize=1024)
def alike(structure: Graph, nodes: tuple[Node, ...]) -> tuple[tuple[Node, ...], ...]:
    """Nodes in sets of those that see the same dims: a graph of another extent differs for few of these sets."""
    sets: dict[frozenset[str], list[Node]] = {}
    for node in nodes:
        sets.setdefault(frozenset(seen_by(structure, (node,)).dims), []).append(node)
    return tuple(tuple(found) for found in sets.values())


def touched_by(graph: Graph, nodes: tuple[Node, ...]) -> Mapping[Node, Elements]:
    """Elements that nodes touch: of each operand, and of the result."""
    found: dict[Node, Elements] = {}
    for some in alike(structure_of(graph), nodes):
        found.update(_touched(part_of(graph, some), some))
    return found


@lru_cache(maxsize=8192)
def _touched(part: Graph, nodes: tuple[Node, ...]) -> Mapping[Node, Elements]:
    return {node: kind_of(node).touched(node, part, part.sizes) for node in nodes}
