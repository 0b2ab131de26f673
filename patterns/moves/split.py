"""split: a dim becomes several, whose extents multiply to its own; the last of them is fastest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from patterns.axes import aligned
from patterns.graph import Node, Tensor
from patterns.kind import Operand
from patterns.move import Dims, Words, in_place_of, need_product, with_extents, words

TAKES: Mapping[str, Any] = {"along": Words, "to": Words}
NEEDS: frozenset[str] = frozenset({"along", "to"})
JOINS = False


def check(node: Node, operands: Sequence[Tensor], sizes: Mapping[str, int]) -> Node:
    """The node with the extents of its new dims. Raises WrongShape."""
    need_product(node.along, words(node, "to"), sizes)
    return with_extents(node, sizes)


def dims(node: Node, operands: Sequence[Dims], declared: Dims | None) -> Dims:
    """The new dims in the place of the one."""
    return in_place_of(operands[0], node.along, words(node, "to"))


def apply(node: Node, operands: Sequence[Operand], out_dims: Dims) -> Any:
    """The array reshaped."""
    array, own = operands[0].array, operands[0].dims
    extents = [int(extent) for extent in words(node, "extents")]
    at = own.index(node.along)
    shaped = array.reshape([*array.shape[:at], *extents, *array.shape[at + 1 :]])
    return aligned(Operand(shaped, dims(node, [own], None)), out_dims)
