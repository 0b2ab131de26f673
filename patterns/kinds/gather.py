"""gather: read a table through integer indices along one of its dims.

YAML: {kind: gather, reads: [table, index], along: vocabulary}. The dims of the index take the place of `along`; dims
that index and table share stay (every batch looks up its own rows). `outside` says what an index beyond the table
gives: `refuse` (an error, the default; negative ones too) or `zero` (a member that holds a part of a table).
Touched are the rows looked up, the index and the result. Without `distinct` every lookup finds another row (at most
the table is touched). `distinct` says how many different rows are found in all, and changes nothing but bytes:
  distinct: 277       so many, a number or an expression of extents; part of a row counts too (tokens / page)
  distinct: uniform   the expected number: the lookups along the last dim of the index differ (a token's experts), all
                      sets of so many rows are equally likely, and no set depends on another
A tile of lookups finds the expected number of its own draws; of a number that is written it has its share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any, Literal

from patterns.axes import aligned, counted, extents_of, points, without
from patterns.counting.distinct import expected_distinct, rounded, shown
from patterns.dtypes import is_integer
from patterns.errors import UserError, did_you_mean
from patterns.expression import ExpressionError, parse, value_of
from patterns.graph import Graph, Node, Tensor
from patterns.graph_file.spec import NodeSpec
from patterns.kind import Demand, Operand, Trait, WrongShape
from patterns.shape import kept, listed, need_dim, need_reads, with_argument

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TRAITS: frozenset[Trait] = frozenset({"indexes"})
FUNCTIONS: Mapping[str, tuple[str, ...]] = {}
UNIFORM = "uniform"


class Spec(NodeSpec):
    """A gather as written."""

    along: str
    """The dim of the table that the index looks up."""
    outside: Literal["refuse", "zero"] | None = None
    """What an index beyond the table gives: refuse (an error, the default) or zero."""
    distinct: int | str | None = None
    """How many different rows are found in all, for counting bytes: a number, an expression of extents, or uniform."""


def infer(node: Node, operands: Sequence[Tensor], declared: Tensor | None, sizes: Mapping[str, int]) -> Node:
    """The node with `distinct` evaluated. Raises WrongShape."""
    need_reads(node, 2, "a gather reads a table and an index")
    need_dim(operands[0], node.along, "to look up along")
    need_index(operands[1])
    if node.argument("distinct", UNIFORM) != UNIFORM:
        node = _counted(node, sizes)
    _need_distinct(node, operands, sizes)
    return node


def _counted(node: Node, sizes: Mapping[str, int]) -> Node:
    """The node with `distinct` as a number; a fraction stays text, exactly. Raises WrongShape."""
    asked = node.argument("distinct", 0)
    if isinstance(asked, float):
        raise WrongShape(f"distinct is {asked}: a whole number or an expression of extents is due")
    try:
        rows = value_of(parse(str(asked)), sizes)
    except ExpressionError as error:
        nearest = did_you_mean(str(asked), [UNIFORM])
        raise WrongShape(f"{error}{nearest}", "distinct", error.offset) from error
    return with_argument(node, "distinct", rows.numerator if rows.denominator == 1 else str(rows))


def _need_distinct(node: Node, operands: Sequence[Tensor], sizes: Mapping[str, int]) -> None:
    """Raises WrongShape unless so many different rows can be found."""
    table, index = operands
    if not {node.along, *table.dims, *index.dims} <= sizes.keys():
        return  # an extent is wrong, which is told already
    found = _Found(node.along, table.dims, index.dims)
    asked, rows, lookups = node.argument("distinct", 1), sizes[node.along], points(index.dims, sizes)
    if asked == UNIFORM:
        together = points(found.together, sizes)
        if together > rows:
            raise WrongShape(
                f"distinct: uniform draws {together:,} different rows at once (the last dim of {index.name} "
                f"{listed(index.dims)}), and {node.along!r} has {rows:,}"
            )
        return
    tables = points(found.shared, sizes)
    most, why = min(
        (rows * tables, f"{node.along!r} of {table.name} has {rows * tables:,}"),
        (lookups, f"{index.name} {listed(index.dims)} looks up {lookups:,}"),
    )
    if not 1 <= Fraction(asked) <= most:
        raise WrongShape(f"distinct is {shown(Fraction(asked))} rows; at least 1 is found, and {why}")


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
    """Rows looked up (at most the whole table; a share of the distinct ones), the index, the result."""
    table, index, result = (points(graph.tensor_named[name].dims, sizes) for name in (*node.reads, node.writes))
    rows = distinct_rows(node, graph, sizes)
    if rows is None:
        return (min(result, table), index), result
    elements = rows * points(_found(node, graph).row, sizes)
    # Rounded once, of the whole: parts have whole elements too, and together no fewer.
    is_part = any(sizes[dim] != graph.sizes[dim] for name in node.reads for dim in graph.tensor_named[name].dims)
    return (min(result, table, ceil(elements) if is_part else rounded(elements)), index), result


@dataclass(frozen=True)
class _Found:
    """Dims of a lookup: of its table, of its index."""

    along: str
    table: tuple[str, ...]
    index: tuple[str, ...]

    @property
    def shared(self) -> tuple[str, ...]:
        """Dims of both: each point has a table of its own."""
        return tuple(dim for dim in self.table if dim in self.index and dim != self.along)

    @property
    def row(self) -> tuple[str, ...]:
        """Dims of what one lookup finds."""
        return without(self.table, (self.along, *self.index))

    @property
    def together(self) -> tuple[str, ...]:
        """The dim along which lookups into one table differ: the last of the index, unless that tells tables apart."""
        return without(self.index[-1:], self.shared)


def _found(node: Node, graph: Graph) -> _Found:
    return _Found(node.along, *(graph.tensor_named[name].dims for name in node.reads))


def distinct_rows(node: Node, graph: Graph, sizes: Mapping[str, int]) -> Fraction | None:
    """How many different rows lookups of these extents find; None where nothing is said of it."""
    asked, found = node.argument("distinct", 0), _found(node, graph)
    if not asked:
        return None
    lookups = points(found.index, sizes)
    if asked != UNIFORM:
        return Fraction(asked) * Fraction(lookups, points(found.index, graph.sizes))
    tables, together = points(found.shared, sizes), points(found.together, sizes)
    return tables * expected_distinct(sizes[node.along], together, lookups // (tables * together))


def remark(node: Node, graph: Graph) -> str:
    """How the rows that it reads are counted, '' where every lookup finds another."""
    rows = distinct_rows(node, graph, graph.sizes)
    if rows is None:
        return ""
    tables = points(_found(node, graph).shared, graph.sizes)
    table = f"{shown(rows)} of {graph.sizes[node.along] * tables:,} rows"
    return f"expected {table}, drawn uniformly" if node.argument("distinct", 0) == UNIFORM else f"{table}, as written"


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
        found = f"{node.reads[1]} has index {wrong.flat[0]}"
        raise UserError(f"node {node.name!r}: {found}, outside 0 .. {extent - 1} of {node.along!r}")


def places(table: Operand, along: str, index: Operand, dims: tuple[str, ...]) -> tuple[Any, ...]:
    """Where in the table each point of `dims` is: an index array for each axis of the table."""
    extents = extents_of([table])
    return tuple(aligned(index, dims) if dim == along else counted(extents[dim], dim, dims) for dim in table.dims)
