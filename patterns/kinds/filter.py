"""filter: where along a dim the elements are that a flag keeps, the first of them first.

YAML: {kind: filter, reads: [keep], along: rows, to: kept, worst: rows}; over: [rows] says the same as along: rows. `to`
takes the place of `along`. Its extent is the expected number, which everything that follows is counted with; `worst`
(all of `along` if not given) is how many there may be, for which memory must have room. The result holds positions
(int32); those that nothing fills are -1, and a gather with `outside: zero` reads zeros there. A run on numbers that
keeps more than `to` has is refused.

Demand: a flag is added to the number of those before it, and selects where its position goes: 2 ops an element.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from patterns.axes import aligned, points
from patterns.dtypes import is_integer
from patterns.errors import UserError
from patterns.functions.function import Parts
from patterns.graph import Graph, Node, Tensor
from patterns.graph_file.spec import Name, NodeSpec
from patterns.kind import Demand, Operand, Trait, WrongShape
from patterns.shape import counts, need_dim, need_extent, need_reads, with_argument, written

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TRAITS: frozenset[Trait] = frozenset({"reduces"})
FUNCTIONS: Mapping[str, tuple[str, ...]] = {}
# A part of the flags is packed as soon as it is known how many are kept before it.
PACKS = True
NOWHERE = -1


class Spec(NodeSpec):
    """A filter as written: `along`, or `over` with one dim. `extents` is what inference adds: that of `to`."""

    to: Name
    """The dim of what is kept, in the place of `along`; its extent is the expected number."""
    along: str | None = None
    """The dim whose elements are kept or not."""
    over: list[str] | None = None
    """The same, as a list of one."""
    worst: int | str | None = None
    """How many may be kept at most: a number or an expression of extents (all of `along` if not given)."""
    extents: str | None = None
    """Added by the loader: the extent of `to`."""


def infer(node: Node, operands: Sequence[Tensor], declared: Tensor | None, sizes: Mapping[str, int]) -> Node:
    """The node with the dim in `over` and `worst` as a number. Raises WrongShape."""
    need_reads(node, 1, "a filter reads the flags of what is kept")
    asked = (*node.over, *((node.along,) if node.along else ()))
    if len(asked) != 1:
        raise WrongShape(f"say along: one dim of {operands[0].name} whose elements are kept or not")
    (along,), to = asked, _to(node)
    need_dim(operands[0], along, "to filter")
    if to in operands[0].dims:
        raise WrongShape(f"{to!r} is a dim of {operands[0].name} already; what is kept has a dim of its own")
    expected, node = need_extent(to, sizes), counts(node, ["worst"], sizes)
    worst = int(node.argument("worst", sizes[along]))
    if not expected <= worst <= sizes[along]:
        raise WrongShape(
            f"{expected:,} elements ({to!r}) are expected and at most {worst:,} kept; {along!r} has {sizes[along]:,}"
        )
    node = with_argument(node, "worst", worst)
    return with_argument(replace(node, along="", over=asked), "extents", str(expected))


def _to(node: Node) -> str:
    return str(node.argument("to", ""))


def output(node: Node, operands: Sequence[Tensor], declared: Tensor | None) -> Tensor:
    """The operand's dims with `to` in the place of what is filtered. Raises WrongShape."""
    dims = tuple(_to(node) if dim in node.over else dim for dim in operands[0].dims)
    tensor = written(node, dims, "int32", declared, f"filtering {node.over[0]} of {operands[0].name} gives")
    if not is_integer(tensor.dtype):
        raise WrongShape(f"{tensor.name} is declared as {tensor.dtype}; a filter gives int32 positions")
    return tensor


def demand(node: Node, graph: Graph, sizes: Mapping[str, int]) -> Demand:
    """Two ops for every flag."""
    return Demand(vector_ops=2 * points(graph.tensor_named[node.reads[0]].dims, sizes))


def touched(node: Node, graph: Graph, sizes: Mapping[str, int]) -> tuple[tuple[int, ...], int]:
    """Every flag, and every position that is expected, once."""
    tensors = graph.tensor_named
    return (points(tensors[node.reads[0]].dims, sizes),), points(tensors[node.writes].dims, sizes)


def worst(node: Node) -> tuple[str, int]:
    """The dim whose extent is an expected one, and the greatest that it may have."""
    return _to(node), int(node.argument("worst", 0))


def remark(node: Node, graph: Graph) -> str:
    """What is expected, and what there must be room for."""
    to, most = worst(node)
    return f"expected {graph.sizes[to]:,} of {graph.sizes[node.over[0]]:,} kept, room for {most:,}"


def compute(node: Node, operands: Sequence[Operand], out_dims: tuple[str, ...]) -> NDArray[np.generic]:
    """The positions. Raises UserError if there are more than `to` has."""
    return finish(node, part(node, operands, out_dims, {}))


def part(node: Node, operands: Sequence[Operand], out_dims: tuple[str, ...], first: Mapping[str, int]) -> Parts:
    """The positions kept of one part, those that nothing fills last; `first`: where the part begins."""
    import numpy

    along = node.over[0]
    axis = out_dims.index(_to(node))
    keep = aligned(operands[0], tuple(along if dim == _to(node) else dim for dim in out_dims)) != 0
    places = numpy.where(keep, numpy.indices(keep.shape)[axis] + first.get(along, 0), NOWHERE)
    return _packed(places, axis), axis


def _packed(places: NDArray[np.generic], axis: int) -> NDArray[np.generic]:
    """Of each row the positions in order, and then what is none."""
    import numpy

    order = numpy.argsort(places == NOWHERE, axis, kind="stable")
    return numpy.take_along_axis(places, order, axis)


def merge(node: Node, left: Parts, right: Parts) -> Parts:
    """The positions kept of two parts; `left` comes first."""
    import numpy

    return _packed(numpy.concatenate([left[0], right[0]], left[1]), left[1]), left[1]


def finish(node: Node, parts: Parts) -> NDArray[np.generic]:
    """As many positions as `to` has. Raises UserError if more are kept."""
    import numpy

    places, axis = parts
    room, most = int(node.argument("extents", 0)), int((places != NOWHERE).sum(axis).max(initial=0))
    if most > room:
        to = _to(node)
        raise UserError(f"node {node.name!r} keeps {most:,} elements, and {to!r} has {room:,}: set {to}={most}")
    missing = max(0, room - places.shape[axis])
    edges = [(0, missing if at == axis else 0) for at in range(places.ndim)]
    filled = numpy.pad(places, edges, constant_values=NOWHERE)
    result: NDArray[np.generic] = numpy.take(filled, range(room), axis)
    return result
