"""What nodes see of a graph: graphs that agree in it share what is found for these nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from patterns.axes import union
from patterns.graph import Graph, Node
from patterns.kind import kind_of
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
