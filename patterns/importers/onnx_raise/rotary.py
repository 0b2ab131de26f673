"""Rotary positions: halves that are swapped, one with its sign changed, are a roll; the sign goes into the sines."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from patterns.graph import Node, Tensor
from patterns.importers.onnx_trace.model import Constant
from patterns.importers.onnx_trace.rewrite import Change, View, rewritten
from patterns.importers.onnx_trace.sketch import Sketch

if TYPE_CHECKING:
    from numpy.typing import NDArray

ORDER = 30


def raised(sketch: Sketch) -> Sketch:
    """The sketch with rolls for halves that are swapped."""
    return rewritten(sketch, _match)


def _match(view: View, node: Node) -> Change | None:
    """concat(-x2, x1) sin, where x1 and x2 are the halves of x."""
    if (node.kind, node.fn) != ("zip", "mul"):
        return None
    for rotated, table in (node.reads, node.reads[::-1]):
        concat = view.inner(rotated, "buffer", "concat")
        halves = None if concat is None else [_half(view, name) for name in concat.reads]
        if concat is None or halves is None or len(halves) != 2 or None in halves:
            continue
        change = _rolled(view, node, concat, [half for half in halves if half is not None], table)
        if change is not None:
            return change
    return None


def _half(view: View, name: str) -> tuple[tuple[Node, ...], Node, int] | None:
    """(nodes, the slice, its sign) of a half."""
    if not view.only(name):
        return None
    negated = view.maker(name, "map", "neg")
    part = view.inner(negated.reads[0] if negated else name, "buffer", "slice")
    if part is None:
        return None
    return ((part, negated), part, -1) if negated else ((part,), part, 1)


def _rolled(
    view: View, node: Node, concat: Node, halves: list[tuple[tuple[Node, ...], Node, int]], table: str
) -> Change | None:
    (_, second, sign), (_, first, other) = halves
    dim, source = first.along, first.reads[0]
    extent = view.sketch.sizes[dim]
    starts = [int(part.argument("start", 0)) for part in (second, first)]
    same = second.reads == first.reads and second.along == dim == str(concat.argument("to", ""))
    if not same or starts != [extent // 2, 0] or extent % 2 or dim not in view.tensor(table).dims:
        return None
    rolled = replace(concat, fn="roll", reads=(source,), along=dim, arguments=(("by", extent // 2),))
    signed, extra, tensors, constants = _signed(view, table, dim, (sign, other))
    product = replace(node, reads=(rolled.writes, signed))
    gone = (node.name, concat.name, *(item.name for half in halves for item in half[0]))
    return Change(gone, (*extra, rolled, product), tensors, constants)


def _signed(
    view: View, table: str, dim: str, signs: tuple[int, int]
) -> tuple[str, tuple[Node, ...], dict[str, Tensor], dict[str, Constant]]:
    """The table times the signs of the halves: another table if it is a constant, else a node."""
    name, tensor = f"{table}_signed", view.tensor(table)
    if name in view.sketch.tensors:
        return name, (), {}, {}
    constant = view.constant(table)
    extent = view.sketch.sizes[dim]
    if constant is not None:
        shape = tuple(view.sketch.sizes[d] for d in tensor.dims)
        load = partial(_times, constant, shape, tensor.dims.index(dim), signs)
        return name, (), {name: replace(tensor, name=name)}, {name: Constant(shape, tensor.dtype, load, name)}
    sign = view.sketch.unused(f"{dim}_signs")
    ones = Constant((extent,), tensor.dtype, partial(_signs, extent, signs), sign)
    tensors = {sign: Tensor(sign, (dim,), tensor.dtype, "weight"), name: replace(tensor, name=name)}
    return name, (Node(name, "zip", "mul", (table, sign), name),), tensors, {sign: ones}


def _signs(extent: int, signs: tuple[int, int]) -> NDArray[Any]:
    import numpy

    return numpy.repeat(numpy.array(signs, "float32"), extent // 2)


def _times(constant: Constant, shape: tuple[int, ...], axis: int, signs: tuple[int, int]) -> NDArray[Any]:
    along = [1] * len(shape)
    along[axis] = shape[axis]
    table: NDArray[Any] = constant.load().reshape(shape) * _signs(shape[axis], signs).reshape(along)
    return table
