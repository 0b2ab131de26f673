"""all_reduce: the sum over the members of a parallel group, which every member gets.

YAML: {kind: all_reduce, reads: [partial], along: tensor_parallel}. `along` names the extent that is the number of
members (no dim of the tensor); the reader drops an all_reduce over one member unless somebody needs the copy. Its
demand is the payload: the bytes of one member's tensor. What a machine sends for it depends on its network (in a ring
of p, each member sends 2 (p - 1) / p of the payload).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from patterns.axes import aligned, points
from patterns.dtypes import bytes_of
from patterns.graph import Graph, Node, Tensor
from patterns.graph_file.spec import NodeSpec
from patterns.kind import Demand, Operand, Trait, WrongShape
from patterns.shape import kept, need_extent, need_reads

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TRAITS: frozenset[Trait] = frozenset({"communicates"})
FUNCTIONS: Mapping[str, tuple[str, ...]] = {}


class Spec(NodeSpec):
    """An all_reduce as written."""

    along: str
    """The extent that is the number of members; no dim of the tensor."""


def infer(node: Node, operands: Sequence[Tensor], declared: Tensor | None, sizes: Mapping[str, int]) -> Node:
    """The node as it is. Raises WrongShape."""
    need_reads(node, 1, "an all_reduce has one operand, which every member has")
    need_extent(node.along, sizes)
    if node.along in operands[0].dims:
        raise WrongShape(f"{node.along!r} is a dim of {operands[0].name}, not the members: a reduce sums over it")
    return node


def output(node: Node, operands: Sequence[Tensor], declared: Tensor | None) -> Tensor:
    """The shape of the operand. Raises WrongShape."""
    return kept(node, operands[0].dims, operands[0], declared, f"an all_reduce keeps the dims of {operands[0].name}")


def demand(node: Node, graph: Graph, sizes: Mapping[str, int]) -> Demand:
    """The payload in bytes; nothing in a group of one."""
    if graph.sizes[node.along] == 1:
        return Demand()
    tensor = graph.tensor_named[node.writes]
    return Demand(network_bytes=bytes_of(points(tensor.dims, sizes), tensor.dtype))


def touched(node: Node, graph: Graph, sizes: Mapping[str, int]) -> tuple[tuple[int, ...], int]:
    """Every element, once."""
    elements = points(graph.tensor_named[node.writes].dims, sizes)
    return (elements,), elements


def compute(node: Node, operands: Sequence[Operand], out_dims: tuple[str, ...]) -> NDArray[np.generic]:
    """The sum of the operands: the one tensor that is read, of each member."""
    result: NDArray[np.generic] = reduce(add, (aligned(operand, out_dims) for operand in operands))
    return result
