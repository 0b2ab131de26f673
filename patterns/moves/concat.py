"""concat: operands one after another along a dim that all have, or without `along` each along its one own dim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from patterns.axes import aligned
from patterns.graph import Node, Tensor
from patterns.kind import Operand, WrongShape
from patterns.move import Dims, Words, in_place_of, one_new
from patterns.shape import listed, need_dim, need_extent

TAKES: Mapping[str, Any] = {"along": Words, "to": Words}
NEEDS: frozenset[str] = frozenset({"to"})
JOINS = True


def check(node: Node, operands: Sequence[Tensor], sizes: Mapping[str, int]) -> Node:
    """The node as it is. Raises WrongShape."""
    if node.along:
        for operand in operands:
            need_dim(operand, node.along, "to concatenate")
    joined = _joined_dims(node, [operand.dims for operand in operands])
    total, to = sum(need_extent(dim, sizes) for dim in joined), one_new(node)
    if total != need_extent(to, sizes):
        raise WrongShape(f"{' + '.join(joined)} is {total}, and {to!r} has extent {sizes[to]}")
    return node


def _joined_dims(node: Node, operands: Sequence[Dims]) -> Dims:
    """Of each operand the dim that is concatenated."""
    if node.along:
        return (node.along,) * len(operands)
    shared = set.intersection(*(set(own) for own in operands))
    not_shared = [[dim for dim in own if dim not in shared] for own in operands]
    if any(len(own) != 1 for own in not_shared):
        raise WrongShape("say `along`: it is not one dim of each that the operands do not share")
    return tuple(own[0] for own in not_shared)


def dims(node: Node, operands: Sequence[Dims], declared: Dims | None) -> Dims:
    """The whole's dim in the place of the first operand's part. Raises WrongShape."""
    results = [
        in_place_of(own, dim, (one_new(node),)) for own, dim in zip(operands, _joined_dims(node, operands), strict=True)
    ]
    if any(set(own) != set(results[0]) for own in results):
        raise WrongShape(f"the operands have other dims beside the concatenated: {' and '.join(map(listed, operands))}")
    return results[0]


def apply(node: Node, operands: Sequence[Operand], out_dims: Dims) -> Any:
    """numpy.concatenate of the operands."""
    import numpy

    to = one_new(node)
    joined = _joined_dims(node, [operand.dims for operand in operands])
    renamed = [
        Operand(operand.array, in_place_of(operand.dims, dim, (to,)))
        for operand, dim in zip(operands, joined, strict=True)
    ]
    return numpy.concatenate([aligned(operand, out_dims) for operand in renamed], axis=out_dims.index(to))
