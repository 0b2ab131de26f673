"""flip: the elements along a dim in reverse order (a kernel's, in the backward pass of a convolution)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from patterns.axes import aligned
from patterns.graph import Node, Tensor
from patterns.kind import Operand
from patterns.move import Dims, Words

TAKES: Mapping[str, Any] = {"along": Words}
NEEDS: frozenset[str] = frozenset({"along"})
JOINS = False


def check(node: Node, operands: Sequence[Tensor], sizes: Mapping[str, int]) -> Node:
    """The node as it is."""
    return node


def dims(node: Node, operands: Sequence[Dims], declared: Dims | None) -> Dims:
    """Those of the operand."""
    return operands[0]


def apply(node: Node, operands: Sequence[Operand], out_dims: Dims) -> Any:
    """numpy.flip along the dim."""
    import numpy

    return numpy.flip(aligned(operands[0], out_dims), axis=out_dims.index(node.along))
