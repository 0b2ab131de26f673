"""merge: several dims become one, where the first of them is; the last of `parts` is fastest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from patterns.axes import aligned
from patterns.graph import Node, Tensor
from patterns.kind import Operand
from patterns.move import Dims, Words, in_place_of, need_product, one_new, words
from patterns.shape import need_dim

TAKES: Mapping[str, Any] = {"parts": Words, "to": Words}
NEEDS: frozenset[str] = frozenset({"parts", "to"})
JOINS = False


def check(node: Node, operands: Sequence[Tensor], sizes: Mapping[str, int]) -> Node:
    """The node as it is. Raises WrongShape."""
    for dim in words(node, "parts"):
        need_dim(operands[0], dim, "to merge")
    need_product(one_new(node), words(node, "parts"), sizes)
    return node


def dims(node: Node, operands: Sequence[Dims], declared: Dims | None) -> Dims:
    """The new dim in the place of the first of its parts."""
    parts = words(node, "parts")
    return in_place_of(tuple(dim for dim in operands[0] if dim not in parts[1:]), parts[0], (one_new(node),))


def apply(node: Node, operands: Sequence[Operand], out_dims: Dims) -> Any:
    """The array with its parts side by side, reshaped."""
    side_by_side = _side_by_side(node, operands[0].dims)
    array = aligned(operands[0], side_by_side)
    at, count = side_by_side.index(words(node, "parts")[0]), len(words(node, "parts"))
    shaped = array.reshape([*array.shape[:at], -1, *array.shape[at + count :]])
    return aligned(Operand(shaped, dims(node, [operands[0].dims], None)), out_dims)


def _side_by_side(node: Node, own: Dims) -> Dims:
    """The dims with all that are merged side by side, in the order of `parts`, where the first of them is."""
    parts = words(node, "parts")
    return in_place_of(tuple(dim for dim in own if dim not in parts[1:]), parts[0], parts)
