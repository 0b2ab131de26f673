"""permute: the dims in another order: that in `order`, else that of the declared result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from patterns.axes import aligned
from patterns.graph import Node, Tensor
from patterns.kind import Operand, WrongShape
from patterns.move import Dims, Words, words
from patterns.shape import listed

TAKES: Mapping[str, Any] = {"order": Words}
NEEDS: frozenset[str] = frozenset()
JOINS = False


def check(node: Node, operands: Sequence[Tensor], sizes: Mapping[str, int]) -> Node:
    """The node as it is."""
    return node


def dims(node: Node, operands: Sequence[Dims], declared: Dims | None) -> Dims:
    """The dims as ordered. Raises WrongShape."""
    order = words(node, "order") or declared
    if order is None:
        raise WrongShape(f"say the order of {listed(operands[0])}: with `order`, or by declaring {node.writes}")
    if sorted(order) != sorted(operands[0]):
        raise WrongShape(f"order {listed(order)} is no permutation of {listed(operands[0])}")
    return order


def apply(node: Node, operands: Sequence[Operand], out_dims: Dims) -> Any:
    """A transposed view."""
    return aligned(operands[0], out_dims)
