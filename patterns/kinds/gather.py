"""gather: read a table through integer indices along one of its dims.

YAML: {kind: gather, reads: [table, index], along: vocabulary}. The dims of the index take the place of `along`; dims
that index and table share stay (every batch looks up its own rows). `outside` says what an index beyond the table
gives: `refuse` (an error, the default) or `zero` (a member that holds a part of a table).
Touched are the rows looked up (at most the table), the index and the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from patterns.axes import aligned, counted, extents_of, points
from patterns.dtypes import is_integer
from patterns.errors import UserError
from patterns.graph import Graph, Node, Tensor
from patterns.kind import Demand, Operand, Trait, WrongShape
from patterns.shape import kept, listed, need_dim, need_reads
from patterns.spec import NodeSpec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TRAITS: frozenset[Trait] = frozenset({"indexes"})
FUNCTIONS: Mapping[str, tuple[str, ...]] = {}


class Spec(NodeSpec):
    """A gather as written."""

    along: str
    outside: Literal["refuse", "zero"] | None = None


def infer(node: Node, operands: Sequence[Tensor], declared: Tensor | None, sizes: Mapping[str, int]) -> Node:
    """The node as it is. Raises WrongShape."""
    need_reads(node, 2, "a gather reads a table and an index")
    need_dim(operands[0], node.along, "to look up along")
    need_index(operands[1])
    return node


def need_index(index: Tensor) -> None:
    """Raises WrongShape unless the tensor can be an index."""
    if not is_integer(index.dtype):
        raise WrongShape(f"{index.name} is {index.dtype}; an index is int8, int32 or int64")


def output(node: Node, operands: Sequence[Tensor], declared: Tensor | None) -> Tensor:
    """The table's dims, with the dims of the index in the place of `along`. Raises WrongShape."""
    table, index = operands
    others = [dim for dim in table.dims if dim != node.along]
    new = [dim for dim in index.dims if dim not in others]
    at = table.dims.index(node.along)
    dims = (*others[:at], *new, *others[at:])
    rule = f"looking up {index.name} {listed(index.dims)} along {node.along} of {table.name} {listed(table.dims)} gives"
    return kept(node, dims, table, declared, rule)


def demand(node: Node, graph: Graph, sizes: Mapping[str, int]) -> Demand:
    """No work but moving bytes."""
    return Demand()


def touched(node: Node, graph: Graph, sizes: Mapping[str, int]) -> tuple[tuple[int, ...], int]:
    """Rows looked up (at most the whole table), the index, the result."""
    table, index, result = (points(graph.tensor_named[name].dims, sizes) for name in (*node.reads, node.writes))
    return (min(result, table), index), result


def compute(node: Node, operands: Sequence[Operand], out_dims: tuple[str, ...]) -> NDArray[np.generic]:
    """The rows looked up. Raises UserError for an index outside the table, unless `outside` is zero."""
    import numpy

    table, index = operands
    extent = table.array.shape[table.dims.index(node.along)]
    inside = (index.array >= 0) & (index.array < extent)
    zero_outside = node.argument("outside", "refuse") == "zero"
    if not zero_outside:
        need_inside(node, index, extent)
    safe = Operand(numpy.where(inside, index.array, 0), index.dims)
    chosen = places(table, node.along, safe, out_dims)
    result: NDArray[np.generic] = table.array[chosen]
    return numpy.where(aligned(Operand(inside, index.dims), out_dims), result, 0) if zero_outside else result


def need_inside(node: Node, index: Operand, extent: int) -> None:
    """Raises UserError if an index is outside 0 .. extent - 1: numpy would count negative ones from the end."""
    wrong = index.array[(index.array < 0) | (index.array >= extent)]
    if wrong.size:
        raise UserError(f"{node.reads[1]} has index {wrong.flat[0]}, outside 0 .. {extent - 1} of {node.along!r}")


def places(table: Operand, along: str, index: Operand, dims: tuple[str, ...]) -> tuple[Any, ...]:
    """Where in the table each point of `dims` is: an index array for each axis of the table."""
    extents = extents_of([table])
    return tuple(aligned(index, dims) if dim == along else counted(extents[dim], dim, dims) for dim in table.dims)
