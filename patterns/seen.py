"""What nodes see of a graph: graphs that agree in it share what is found for these nodes."""

from __future__ import annotations

from collections.abc import Sequence
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


def touched_of(graph: Graph, node: Node) -> Elements:
    """Elements that a node touches: of each operand, and of its result."""
    return _touched(part_of(graph, (node,)), node)


@lru_cache(maxsize=8192)
def _touched(part: Graph, node: Node) -> Elements:
    return kind_of(node).touched(node, part, part.sizes)
