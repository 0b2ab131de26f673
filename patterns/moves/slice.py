"""slice: as many elements along a dim as the dim `to` has, from `start` (0 if not given)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from patterns.axes import aligned
from patterns.graph import Node, Tensor
from patterns.kind import Operand, WrongShape
from patterns.move import Dims, Whole, Words, in_place_of, one_new, with_extents
from patterns.shape import need_extent

TAKES: Mapping[str, Any] = {"along": Words, "start": Whole, "to": Words}
NEEDS: frozenset[str] = frozenset({"along", "to"})
JOINS = False


def check(node: Node, operands: Sequence[Tensor], sizes: Mapping[str, int]) -> Node:
    """The node with the extent of its slice. Raises WrongShape."""
    to = one_new(node)
    start, length, extent = int(node.argument("start", 0)), need_extent(to, sizes), need_extent(node.along, sizes)
    if start < 0 or start + length > extent:
        raise WrongShape(f"elements {start} .. {start + length - 1} are not within {node.along!r}, which has {extent}")
    return with_extents(node, sizes)


def dims(node: Node, operands: Sequence[Dims], declared: Dims | None) -> Dims:
    """The slice's dim in the place of the whole."""
    return in_place_of(operands[0], node.along, (one_new(node),))


def apply(node: Node, operands: Sequence[Operand], out_dims: Dims) -> Any:
    """A view of the slice."""
    start, length = int(node.argument("start", 0)), int(node.argument("extents", 0))
    taken = tuple(slice(start, start + length) if dim == node.along else slice(None) for dim in operands[0].dims)
    return aligned(Operand(operands[0].array[taken], dims(node, [operands[0].dims], None)), out_dims)
