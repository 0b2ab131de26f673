"""pad: more elements before and after those of a dim, all of one value.

`before` and `after` say how many (0 if not given); `between` puts so many between each two (a transposed convolution).
`to` is the dim with them, whose extent must be n + before + after + between * (n - 1). value: a number, 0 if not given,
or `lowest`, which is less than every number: what pads a maximum. Only the elements of the operand are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Annotated, Any, Literal

from pydantic import PlainValidator

from patterns.axes import aligned, points, without
from patterns.dtypes import is_integer
from patterns.graph import Node, Tensor
from patterns.kind import Operand, WrongShape
from patterns.move import Dims, Range, Whole, Words, in_place_of, one_new, with_extents, words
from patterns.shape import need_extent, with_argument


def _is_value(given: object) -> object:
    number = isinstance(given, int | float) and not isinstance(given, bool) and isfinite(given)
    if not number and given != "lowest":
        raise ValueError(f"a number or `lowest` is due, found {given!r}")
    return given


TAKES: Mapping[str, Any] = {
    "along": Words,
    "to": Words,
    "before": Whole,
    "after": Whole,
    "between": Whole,
    "value": Annotated[
        int | float | Literal["lowest"],
        PlainValidator(_is_value, json_schema_input_type=int | float | Literal["lowest"]),
    ],
}
NEEDS: frozenset[str] = frozenset({"along", "to"})
JOINS = False


def check(node: Node, operands: Sequence[Tensor], sizes: Mapping[str, int]) -> Node:
    """The node with the extent of its new dim. Raises WrongShape."""
    to, extent = one_new(node), need_extent(node.along, sizes)
    before, after, between = _counts(node)
    for name, count in (("before", before), ("after", after), ("between", between)):
        if count < 0:
            raise WrongShape(f"{name} is {count}: a pad only adds elements (a slice takes some)")
    value = node.argument("value", 0)
    if is_integer(operands[0].dtype) and isinstance(value, float) and not value.is_integer():
        raise WrongShape(f"value is {value}, and {operands[0].name} is {operands[0].dtype}: a whole number is due")
    due = before + (extent - 1) * (between + 1) + 1 + after
    if need_extent(to, sizes) != due:
        apart = f" + {between} * {extent - 1}" if between else ""
        raise WrongShape(
            f"{node.along!r} padded is {before} + {extent}{apart} + {after} = {due}, and {to!r} has extent {sizes[to]}"
        )
    return with_extents(node, sizes)


def _counts(node: Node) -> tuple[int, int, int]:
    return tuple(int(node.argument(name, 0)) for name in ("before", "after", "between"))  # type: ignore[return-value]


def dims(node: Node, operands: Sequence[Dims], declared: Dims | None) -> Dims:
    """The padded dim in the place of the one."""
    return in_place_of(operands[0], node.along, (one_new(node),))


def apply(node: Node, operands: Sequence[Operand], out_dims: Dims) -> Any:
    """The array within a larger one."""
    import numpy

    array, own = operands[0].array, operands[0].dims
    at = own.index(node.along)
    before, _, between = _counts(node)
    step = between + 1
    shape = [*array.shape[:at], int(words(node, "extents")[0]), *array.shape[at + 1 :]]
    whole = numpy.full(shape, _value(node, array.dtype), array.dtype)
    held = slice(before, before + array.shape[at] * step, step)
    whole[(slice(None),) * at + (held,)] = array
    return aligned(Operand(whole, dims(node, [own], None)), out_dims)


def _value(node: Node, dtype: Any) -> Any:
    import numpy

    value = node.argument("value", 0)
    if value != "lowest":
        return value
    return -numpy.inf if dtype.kind == "f" else numpy.iinfo(dtype).min


def touched(node: Node, own: Dims, sizes: Mapping[str, int]) -> int:
    """Elements of the operand that the result, or a tile of it, has."""
    inside = -(-sizes[one_new(node)] // (_counts(node)[2] + 1))
    return points(without(own, [node.along]), sizes) * min(sizes[node.along], inside)


def part(node: Node, tile: Mapping[str, Range], extent: int) -> tuple[Node, Range]:
    """A tile of the padded dim, out of the elements that fall into it; there may be none."""
    before, _, between = _counts(node)
    begin, end = tile[one_new(node)]
    step = between + 1
    first, last = (min(max(-(-(at - before) // step), 0), extent) for at in (begin, end))
    last = max(first, last)
    made = with_argument(node, "extents", str(end - begin))
    return with_argument(made, "before", before + first * step - begin if last > first else 0), (first, last)
