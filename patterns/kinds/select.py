"""select: the k greatest elements along a dim, the greatest first; of equal ones the first in the dim comes first.

YAML: {kind: select, fn: indices, reads: [scores], along: experts, to: slots}; the extent of `to`, which takes the place
of `along`, is k. `fn` is `values`, or `indices` (int32: where they are). With k the whole extent it is a sort.
`over: [experts]` says the same as `along: experts`.

Demand: what keeping the k best so far takes, by compares: an element is compared with each of them, or, where that is
less, runs of k elements are sorted and merged with them in a bitonic network of s (s + 1) / 2 + 1 + s stages,
s = ceil(log2 k) (Batcher 1968; a sort has no merge, and s (s + 1) / 2 stages). A compare is one op of an element, and
one more where its index goes along: for k = 1 it is what a reduce by max, or by argmax, counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from patterns.axes import aligned, points
from patterns.dtypes import is_integer
from patterns.functions.function import Parts
from patterns.graph import Graph, Node, Tensor
from patterns.graph_file.spec import Name, NodeSpec
from patterns.kind import Demand, Operand, Trait, WrongShape
from patterns.shape import need_dim, need_extent, need_reads, with_argument, written

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TRAITS: frozenset[Trait] = frozenset({"reduces"})
FUNCTIONS: Mapping[str, tuple[str, ...]] = dict.fromkeys(("values", "indices"), ("to",))
# Ops of a compare: the greater of two, and its index.
_COMPARE_OPS: Mapping[str, int] = {"values": 1, "indices": 2}
# Where in what is kept of a part they are.
_KEPT_AT: Mapping[str, int] = {"values": 0, "indices": 1}


class Spec(NodeSpec):
    """A select as written: `along`, or `over` with one dim. `extents` is what inference adds: that of `to`."""

    fn: Literal["values", "indices"]
    """values, or indices: where they are."""
    to: Name
    """The dim of what is selected, in the place of `along`; its extent is how many."""
    along: str | None = None
    """The dim whose greatest elements are selected."""
    over: list[str] | None = None
    """The same, as a list of one."""
    extents: str | None = None
    """Added by the loader: the extent of `to`."""


def infer(node: Node, operands: Sequence[Tensor], declared: Tensor | None, sizes: Mapping[str, int]) -> Node:
    """The node with the dim in `over`. Raises WrongShape."""
    need_reads(node, 1, "a select has one operand")
    asked = (*node.over, *((node.along,) if node.along else ()))
    if len(asked) != 1:
        raise WrongShape(f"say along: one dim of {operands[0].name} to select from")
    (along,), to = asked, _to(node)
    need_dim(operands[0], along, "to select from")
    if to in operands[0].dims:
        raise WrongShape(f"{to!r} is a dim of {operands[0].name} already; what is selected has a dim of its own")
    if need_extent(to, sizes) > need_extent(along, sizes):
        raise WrongShape(
            f"{sizes[to]:,} elements ({to!r}) cannot be selected from {along!r}, which has {sizes[along]:,}"
        )
    return with_argument(replace(node, along="", over=asked), "extents", str(sizes[to]))


def _to(node: Node) -> str:
    return str(node.argument("to", ""))


def output(node: Node, operands: Sequence[Tensor], declared: Tensor | None) -> Tensor:
    """The operand's dims with `to` in the place of what is selected from. Raises WrongShape."""
    source, to = operands[0], _to(node)
    dims = tuple(to if dim in node.over else dim for dim in source.dims)
    rule = f"selecting {to} of {node.over[0]} of {source.name} gives"
    tensor = written(node, dims, "int32" if node.fn == "indices" else source.dtype, declared, rule)
    if node.fn == "indices" and not is_integer(tensor.dtype):
        raise WrongShape(f"{tensor.name} is declared as {tensor.dtype}; a select of indices gives int32")
    return tensor


def demand(node: Node, graph: Graph, sizes: Mapping[str, int]) -> Demand:
    """Compares of every element that is read (see above)."""
    elements = points(graph.tensor_named[node.reads[0]].dims, sizes)
    compares = _compares(sizes[_to(node)], graph.sizes[node.over[0]])
    return Demand(vector_ops=_COMPARE_OPS[node.fn] * compares * elements)


def _compares(kept: int, of: int) -> int:
    """Compares of each element to keep the greatest so many of all."""
    deep = (kept - 1).bit_length()
    sorting = deep * (deep + 1) // 2
    return min(kept, sorting if kept == of and kept > 1 else sorting + 1 + deep)


def touched(node: Node, graph: Graph, sizes: Mapping[str, int]) -> tuple[tuple[int, ...], int]:
    """Every element, once."""
    tensors = graph.tensor_named
    return (points(tensors[node.reads[0]].dims, sizes),), points(tensors[node.writes].dims, sizes)


def compute(node: Node, operands: Sequence[Operand], out_dims: tuple[str, ...]) -> NDArray[np.generic]:
    """The greatest, or where they are."""
    return finish(node, part(node, operands, out_dims, {}))


def part(node: Node, operands: Sequence[Operand], out_dims: tuple[str, ...], first: Mapping[str, int]) -> Parts:
    """The greatest of one part (at most all of it), and where they are; `first`: where the part begins."""
    import numpy

    along = node.over[0]
    axis = out_dims.index(_to(node))
    array = aligned(operands[0], tuple(along if dim == _to(node) else dim for dim in out_dims))
    places = numpy.indices(array.shape)[axis] + first.get(along, 0)
    return _greatest(node, array, places, axis)


def _greatest(node: Node, values: NDArray[np.generic], places: NDArray[np.generic], axis: int) -> Parts:
    """Of each row along an axis the greatest, in order; of equal ones those that come first."""
    import numpy

    # A stable order of the reversed row, reversed: of equal elements the first is the first again.
    order = numpy.flip(numpy.argsort(numpy.flip(values, axis), axis, kind="stable"), axis)
    kept = numpy.take(
        values.shape[axis] - 1 - order, range(min(int(node.argument("extents", 1)), order.shape[axis])), axis
    )
    return numpy.take_along_axis(values, kept, axis), numpy.take_along_axis(places, kept, axis), axis


def merge(node: Node, left: Parts, right: Parts) -> Parts:
    """What is kept of two parts together; `left` comes first."""
    import numpy

    values, places = (numpy.concatenate([left[at], right[at]], left[2]) for at in (0, 1))
    return _greatest(node, values, places, left[2])


def finish(node: Node, parts: Parts) -> NDArray[np.generic]:
    """The result, from what was kept of all parts."""
    result: NDArray[np.generic] = parts[_KEPT_AT[node.fn]]
    return result
