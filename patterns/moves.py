"""The access patterns of a buffer: what each does to dims, extents and elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from patterns.axes import aligned
from patterns.graph import Node, Tensor
from patterns.kind import Operand, WrongShape
from patterns.shape import listed, need_dim, need_extent, with_argument

Dims = tuple[str, ...]


@dataclass(frozen=True)
class Move:
    """One access pattern.

    takes, needs: fields it may and must have. check: the node with what inference adds; raises WrongShape.
    dims: of the result, from those of the operands and the declared ones. apply: the numpy meaning. joins: takes
    any number of operands.
    """

    takes: frozenset[str]
    needs: frozenset[str]
    check: Callable[[Node, Sequence[Tensor], Mapping[str, int]], Node]
    dims: Callable[[Node, Sequence[Dims], Dims | None], Dims]
    apply: Callable[[Node, Sequence[Operand], Dims], Any]
    joins: bool = False


def _text(node: Node, name: str) -> Dims:
    return tuple(str(node.argument(name, "")).split())


def _in_place_of(dims: Dims, old: str, new: Dims) -> Dims:
    at = dims.index(old)
    return (*dims[:at], *new, *dims[at + 1 :])


def _with_extents(node: Node, sizes: Mapping[str, int]) -> Node:
    """The node with the extents of the new dims as an argument: numpy needs them where the names do not tell."""
    text = " ".join(str(need_extent(dim, sizes)) for dim in _text(node, "to"))
    if node.argument("extents", text) != text:
        given, to = node.argument("extents", ""), node.argument("to", "")
        raise WrongShape(f"extents are {given!r}, and those of {to!r} are {text!r}")
    return with_argument(node, "extents", text)


def _unchecked(node: Node, operands: Sequence[Tensor], sizes: Mapping[str, int]) -> Node:
    return node


def _permuted(node: Node, operands: Sequence[Dims], declared: Dims | None) -> Dims:
    order = _text(node, "order") or declared
    if order is None:
        raise WrongShape(f"say the order of {listed(operands[0])}: with `order`, or by declaring {node.writes}")
    if sorted(order) != sorted(operands[0]):
        raise WrongShape(f"order {listed(order)} is no permutation of {listed(operands[0])}")
    return order


def _permute(node: Node, operands: Sequence[Operand], out_dims: Dims) -> Any:
    return aligned(operands[0], out_dims)


def _rolled(node: Node, operands: Sequence[Dims], declared: Dims | None) -> Dims:
    return operands[0]


def _roll(node: Node, operands: Sequence[Operand], out_dims: Dims) -> Any:
    import numpy

    return numpy.roll(aligned(operands[0], out_dims), int(node.argument("by", 0)), axis=out_dims.index(node.along))


def _check_slice(node: Node, operands: Sequence[Tensor], sizes: Mapping[str, int]) -> Node:
    to = _one_new(node)
    start, length, extent = int(node.argument("start", 0)), need_extent(to, sizes), need_extent(node.along, sizes)
    if start < 0 or start + length > extent:
        raise WrongShape(f"elements {start} .. {start + length - 1} are not within {node.along!r}, which has {extent}")
    return _with_extents(node, sizes)


def _one_new(node: Node) -> str:
    names = _text(node, "to")
    if len(names) != 1:
        raise WrongShape(f"to must be one dim, is {node.argument('to', '')!r}")
    return names[0]


def _sliced(node: Node, operands: Sequence[Dims], declared: Dims | None) -> Dims:
    return _in_place_of(operands[0], node.along, (_one_new(node),))


def _slice(node: Node, operands: Sequence[Operand], out_dims: Dims) -> Any:
    start, length = int(node.argument("start", 0)), int(node.argument("extents", 0))
    taken = tuple(slice(start, start + length) if dim == node.along else slice(None) for dim in operands[0].dims)
    return aligned(Operand(operands[0].array[taken], _sliced(node, [operands[0].dims], None)), out_dims)


def _check_split(node: Node, operands: Sequence[Tensor], sizes: Mapping[str, int]) -> Node:
    _need_product(node.along, _text(node, "to"), sizes)
    return _with_extents(node, sizes)


def _need_product(whole: str, parts: Dims, sizes: Mapping[str, int]) -> None:
    product = prod(need_extent(dim, sizes) for dim in parts)
    if len(parts) < 2 or product != need_extent(whole, sizes):
        raise WrongShape(f"{whole!r} has extent {sizes[whole]}, and {listed(parts)} {product}")


def _split_dims(node: Node, operands: Sequence[Dims], declared: Dims | None) -> Dims:
    return _in_place_of(operands[0], node.along, _text(node, "to"))


def _split(node: Node, operands: Sequence[Operand], out_dims: Dims) -> Any:
    array, dims = operands[0].array, operands[0].dims
    extents = [int(extent) for extent in _text(node, "extents")]
    at = dims.index(node.along)
    shaped = array.reshape([*array.shape[:at], *extents, *array.shape[at + 1 :]])
    return aligned(Operand(shaped, _split_dims(node, [dims], None)), out_dims)


def _check_merge(node: Node, operands: Sequence[Tensor], sizes: Mapping[str, int]) -> Node:
    for dim in _text(node, "parts"):
        need_dim(operands[0], dim, "to merge")
    _need_product(_one_new(node), _text(node, "parts"), sizes)
    return node


def _gathered(node: Node, dims: Dims) -> Dims:
    """The dims with all that are merged side by side, in the order of `parts`, where the first of them is."""
    parts = _text(node, "parts")
    return _in_place_of(tuple(dim for dim in dims if dim not in parts[1:]), parts[0], parts)


def _merged(node: Node, operands: Sequence[Dims], declared: Dims | None) -> Dims:
    parts = _text(node, "parts")
    return _in_place_of(tuple(dim for dim in operands[0] if dim not in parts[1:]), parts[0], (_one_new(node),))


def _merge(node: Node, operands: Sequence[Operand], out_dims: Dims) -> Any:
    side_by_side = _gathered(node, operands[0].dims)
    array = aligned(operands[0], side_by_side)
    at, count = side_by_side.index(_text(node, "parts")[0]), len(_text(node, "parts"))
    shaped = array.reshape([*array.shape[:at], -1, *array.shape[at + count :]])
    return aligned(Operand(shaped, _merged(node, [operands[0].dims], None)), out_dims)


def _joined_dims(node: Node, operands: Sequence[Dims]) -> Dims:
    """Of each operand the dim that is concatenated."""
    if node.along:
        return (node.along,) * len(operands)
    shared = set.intersection(*(set(dims) for dims in operands))
    own = [[dim for dim in dims if dim not in shared] for dims in operands]
    if any(len(dims) != 1 for dims in own):
        raise WrongShape("say `along`: it is not one dim of each that the operands do not share")
    return tuple(dims[0] for dims in own)


def _check_concat(node: Node, operands: Sequence[Tensor], sizes: Mapping[str, int]) -> Node:
    if node.along:
        for operand in operands:
            need_dim(operand, node.along, "to concatenate")
    joined = _joined_dims(node, [operand.dims for operand in operands])
    total, to = sum(need_extent(dim, sizes) for dim in joined), _one_new(node)
    if total != need_extent(to, sizes):
        raise WrongShape(f"{' + '.join(joined)} is {total}, and {to!r} has extent {sizes[to]}")
    return node


def _concat_dims(node: Node, operands: Sequence[Dims], declared: Dims | None) -> Dims:
    results = [
        _in_place_of(dims, dim, (_one_new(node),))
        for dims, dim in zip(operands, _joined_dims(node, operands), strict=True)
    ]
    if any(set(dims) != set(results[0]) for dims in results):
        raise WrongShape(f"the operands have other dims beside the concatenated: {' and '.join(map(listed, operands))}")
    return results[0]


def _concat(node: Node, operands: Sequence[Operand], out_dims: Dims) -> Any:
    import numpy

    to = _one_new(node)
    joined = _joined_dims(node, [operand.dims for operand in operands])
    renamed = [
        Operand(operand.array, _in_place_of(operand.dims, dim, (to,)))
        for operand, dim in zip(operands, joined, strict=True)
    ]
    return numpy.concatenate([aligned(operand, out_dims) for operand in renamed], axis=out_dims.index(to))


def _move(takes: str, needs: str, check: Any, dims: Any, apply: Any, joins: bool = False) -> Move:
    return Move(frozenset(takes.split()), frozenset(needs.split()), check, dims, apply, joins)


MOVES: Mapping[str, Move] = {
    "permute": _move("order", "", _unchecked, _permuted, _permute),
    "roll": _move("along by", "along by", _unchecked, _rolled, _roll),
    "slice": _move("along start to", "along to", _check_slice, _sliced, _slice),
    "split": _move("along to", "along to", _check_split, _split_dims, _split),
    "merge": _move("parts to", "parts to", _check_merge, _merged, _merge),
    "concat": _move("along to", "to", _check_concat, _concat_dims, _concat, joins=True),
}
