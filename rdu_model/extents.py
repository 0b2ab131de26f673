"""Which extents of a graph what is computed of nodes may follow from: those of dims that they name, in any way."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from patterns.graph import Graph, Node, Tensor

_NAME = re.compile(r"[^\W\d]\w*")


def named_extents(graph: Graph, nodes: Iterable[Node], tensors: Iterable[Tensor]) -> tuple[tuple[str, int], ...]:
    """Extents of the dims of nodes and their tensors, and of those that arguments of nodes name, sorted.

    tensors: those that the nodes read and write, at least.
    """
    found = {dim for tensor in tensors for dim in tensor.dims}
    for node in nodes:
        found.update(node.over, (node.along,), _named(node))
    return tuple([(name, graph.sizes[name]) for name in sorted(found & graph.sizes.keys())])


def _named(node: Node) -> Iterator[str]:
    for _, value in node.arguments:
        if isinstance(value, str):
            yield from _NAME.findall(value)
