"""repeat: every element as often as a new dim has points. Merged with a dim it enlarges a picture.

`to` is the new dim: the last one, or where the declared result has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from patterns.axes import aligned
from patterns.graph import Node, Tensor
from patterns.kind import Operand, WrongShape
from patterns.move import Dims, Words, one_new, with_extents
from patterns.shape import listed

TAKES: Mapping[str, Any] = {"to": Words}
NEEDS: frozenset[str] = frozenset({"to"})
JOINS = False


def check(node: Node, operands: Sequence[Tensor], sizes: Mapping[str, int]) -> Node:
    """The node with the extent of its new dim. Raises WrongShape."""
    if one_new(node) in operands[0].dims:
        raise WrongShape(f"{operands[0].name} {listed(operands[0].dims)} has a dim {one_new(node)!r} already")
    return with_extents(node, sizes)


def dims(node: Node, operands: Sequence[Dims], declared: Dims | None) -> Dims:
    """The operand's, and the new one."""
    made = (*operands[0], one_new(node))
    return declared if declared is not None and sorted(declared) == sorted(made) else made


def apply(node: Node, operands: Sequence[Operand], out_dims: Dims) -> Any:
    """A view in which the elements are repeated."""
    import numpy

    array = aligned(operands[0], out_dims)
    at = out_dims.index(one_new(node))
    return numpy.broadcast_to(array, (*array.shape[:at], int(node.argument("extents", 1)), *array.shape[at + 1 :]))
