"""roll: element i along a dim moves to (i + by) mod extent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from patterns.axes import aligned
from patterns.graph import Node, Tensor
from patterns.kind import Operand
from patterns.move import Dims, Whole, Words

TAKES: Mapping[str, Any] = {"along": Words, "by": Whole}
NEEDS: frozenset[str] = frozenset({"along", "by"})
JOINS = False


def check(node: Node, operands: Sequence[Tensor], sizes: Mapping[str, int]) -> Node:
    """The node as it is."""
    return node


def dims(node: Node, operands: Sequence[Dims], declared: Dims | None) -> Dims:
    """Those of the operand."""
    return operands[0]


def apply(node: Node, operands: Sequence[Operand], out_dims: Dims) -> Any:
    """numpy.roll along the dim."""
    import numpy

    return numpy.roll(aligned(operands[0], out_dims), int(node.argument("by", 0)), axis=out_dims.index(node.along))
