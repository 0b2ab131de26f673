"""window: along a dim, `out` windows of `k` elements each: `to: out k`.

Window o begins at o * stride (1 if not given), and its element j is dilation * j (1 if not given) after that. There are
as many as fit whole: (n - dilation * (k - 1) - 1) // stride + 1, which `out` must be. An element that several windows
have is touched once, as in a view; one that none has, because the stride skips it or it is left over, is not.
A convolution is a window along each of its dims and an mm that sums over the windows' elements; a pooling is the same
with a reduce; padding is a pad before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd
from typing import Any

from patterns.axes import aligned, points, without
from patterns.graph import Node, Tensor
from patterns.kind import Operand, WrongShape
from patterns.move import Dims, Range, Whole, Words, in_place_of, with_extents, words
from patterns.shape import need_extent, with_argument

TAKES: Mapping[str, Any] = {"along": Words, "to": Words, "stride": Whole, "dilation": Whole}
NEEDS: frozenset[str] = frozenset({"along", "to"})
JOINS = False


def check(node: Node, operands: Sequence[Tensor], sizes: Mapping[str, int]) -> Node:
    """The node with the extents of its new dims. Raises WrongShape."""
    names = words(node, "to")
    if len(set(names)) != 2:
        raise WrongShape(f"to must be two dims, the windows and their elements, is {node.argument('to', '')!r}")
    along, size = need_extent(node.along, sizes), need_extent(names[1], sizes)
    stride, dilation = _steps(node)
    for name, step in (("stride", stride), ("dilation", dilation)):
        if step < 1:
            raise WrongShape(f"{name} is {step}, and the least is 1")
    reach = dilation * (size - 1) + 1
    if reach > along:
        why = f" ({dilation} * ({size} - 1) + 1)" if dilation > 1 else ""
        text = f"effective window {reach}{why} is larger than input {along}, the extent of {node.along!r}"
        raise WrongShape(text, sure=True)
    out = need_extent(names[0], sizes)
    due = (along - reach) // stride + 1
    if out != due:
        of = f"windows of {reach} with stride {stride}"
        raise WrongShape(f"{along} elements of {node.along!r} have {due} {of}, and {names[0]!r} has extent {out}")
    return with_extents(node, sizes)


def _steps(node: Node) -> tuple[int, int]:
    return int(node.argument("stride", 1)), int(node.argument("dilation", 1))


def dims(node: Node, operands: Sequence[Dims], declared: Dims | None) -> Dims:
    """The windows and their elements in the place of the dim."""
    return in_place_of(operands[0], node.along, words(node, "to"))


def apply(node: Node, operands: Sequence[Operand], out_dims: Dims) -> Any:
    """A view of the array, the elements of each window."""
    from numpy.lib.stride_tricks import as_strided

    array, own = operands[0].array, operands[0].dims
    at = own.index(node.along)
    step, (stride, dilation) = array.strides[at], _steps(node)
    out, size = (int(extent) for extent in words(node, "extents"))
    shape = (*array.shape[:at], out, size, *array.shape[at + 1 :])
    strides = (*array.strides[:at], step * stride, step * dilation, *array.strides[at + 1 :])
    view = as_strided(array, shape, strides, writeable=False)
    return aligned(Operand(view, dims(node, [own], None)), out_dims)


def touched(node: Node, own: Dims, sizes: Mapping[str, int]) -> int:
    """Elements that any window of the result, or of a tile of it, has: each once."""
    out, size = (sizes[dim] for dim in words(node, "to"))
    return points(without(own, [node.along]), sizes) * _different(out, size, *_steps(node))


def _different(out: int, size: int, stride: int, dilation: int) -> int:
    """Different values of o * stride + j * dilation. Those of (o, j) and (o + dilation, j - stride) are the same."""
    common = gcd(stride, dilation)
    stride, dilation = stride // common, dilation // common
    return out * size - max(0, out - dilation) * max(0, size - stride)


def part(node: Node, tile: Mapping[str, Range], extent: int) -> tuple[Node, Range]:
    """A tile of windows, and of their elements, out of the part of the dim that they reach over."""
    stride, dilation = _steps(node)
    (begin, end), (first, last) = (tile[dim] for dim in words(node, "to"))
    from_ = begin * stride + first * dilation
    taken = from_, (end - 1) * stride + (last - 1) * dilation + 1 if end > begin and last > first else from_
    return with_argument(node, "extents", f"{end - begin} {last - first}"), taken
