"""Matrix products of rows that are looked up: read in place, those that find the same row side by side.

A gather whose result only matrix products read is an address: their operand lies in the table. Where lookups find rows
again (tokens that chose the same expert), the product is taken row by row of the table, as a grouped GEMM is: lookups
are sorted by the row that they find, and each row that is found has a product of its own, with as many rows as lookups
found it. Assumed: every row that is found is found equally often.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

from patterns.axes import points
from patterns.graph import Graph, Node, Tensor
from patterns.kind import has, kind_of

# Dims of products that are taken row by row of a table: rows that are found, and lookups of each.
FOUND, EACH = "rows found", "lookups of each"
# Rows that lookups by one index find in tables of their own are as many; counted in elements they are rounded.
ROUNDED = Fraction(1, 4)


@dataclass(frozen=True)
class ByRow:
    """A graph in which nodes are taken row by row. once: of a tensor's points there, how many are there once."""

    graph: Graph
    once: Mapping[str, Fraction]


def lookups(nodes: Sequence[Node], inside: Collection[str]) -> tuple[Node, ...]:
    """Gathers among the nodes whose results are only operands of products. inside: what nobody else needs."""
    operands = _operands(nodes, inside) if any(is_lookup(node) for node in nodes) else set()
    return tuple(node for node in nodes if is_lookup(node) and node.writes in operands)


def _operands(nodes: Sequence[Node], inside: Collection[str]) -> set[str]:
    """Tensors that only products read, or elementwise nodes that make operands of them."""
    found: set[str] = set()
    for node in reversed(nodes):
        readers = [other for other in nodes if node.writes in other.reads]
        multiplied = all(has(one, "contracts") or (has(one, "elementwise") and one.writes in found) for one in readers)
        if node.writes in inside and readers and multiplied:
            found.add(node.writes)
    return found


def is_lookup(node: Node) -> bool:
    """Whether a node finds rows, and writes none."""
    return has(node, "indexes") and not has(node, "updates")


def by_row(graph: Graph, nodes: Sequence[Node], inside: Collection[str]) -> ByRow | None:
    """The nodes taken row by row of the tables; None where they look nothing up, or cannot be."""
    found = lookups(nodes, inside)
    if not found or len({(node.along, node.reads[1]) for node in found}) > 1:
        return None
    index = graph.tensor_named[found[0].reads[1]].dims
    if not all(_keeps_lookups(graph, node, frozenset(index)) for node in nodes if node not in found):
        return None
    converted = _converted(graph, nodes, found, index, _operands(nodes, inside))
    rows = [rows for node in found if (rows := _rows_found(graph, node)) is not None]
    tables = {node.reads[0] for node in found}
    if converted is None or len(rows) < len(found) or max(rows) - min(rows) > ROUNDED:
        return None
    if any(set(index) & set(graph.tensor_named[name].dims) for name in tables):
        return None
    return _taken_by_row(graph, nodes, found, converted, rows)


def _converted(
    graph: Graph, nodes: Sequence[Node], found: Sequence[Node], index: Sequence[str], operands: Collection[str]
) -> frozenset[str] | None:
    """What elementwise nodes make of the rows alone, on their way to products; None if of each lookup another."""
    rows = {node.writes for node in found}
    for node in nodes:
        if node not in found and node.writes in operands and rows.intersection(node.reads):
            others = (graph.tensor_named[name].dims for name in node.reads if name not in rows)
            if any(set(dims).intersection(index) for dims in others):
                return None
            rows.add(node.writes)
    return frozenset(rows.difference(node.writes for node in found))


def _keeps_lookups(graph: Graph, node: Node, index: frozenset[str]) -> bool:
    """Whether a node works for each lookup by itself."""
    light = has(node, "contracts") or has(node, "elementwise")
    return light and index <= set(graph.tensor_named[node.writes].dims) and not index.intersection(node.over)


def _rows_found(graph: Graph, node: Node) -> Fraction | None:
    """How many different rows a lookup finds, by what it touches; None if each lookup finds another."""
    dims = [graph.tensor_named[name].dims for name in (*node.reads, node.writes)]
    row = points((dim for dim in dims[0] if dim != node.along), graph.sizes)
    (touched, lookups), _ = kind_of(node).touched(node, graph, graph.sizes)
    return Fraction(touched, row) if touched < row * lookups else None


def _taken_by_row(
    graph: Graph, nodes: Sequence[Node], found: Sequence[Node], converted: Collection[str], rows: Sequence[Fraction]
) -> ByRow:
    index_name = found[0].reads[1]
    index = graph.tensor_named[index_name].dims
    lookups, whole = points(index, graph.sizes), max(1, ceil(rows[0]))
    sizes = {**graph.sizes, FOUND: whole, EACH: -(-lookups // whole)}
    looked_up = {node.writes for node in found} | {index_name, *converted}
    once = {node.reads[0]: own / whole for node, own in zip(found, rows, strict=True)}
    renamed: dict[str, Tensor] = {}
    for name in dict.fromkeys(name for node in nodes for name in (*node.reads, node.writes)):
        tensor = graph.tensor_named[name]
        if not set(index) & set(tensor.dims):
            continue
        new = (FOUND,) if name in looked_up else (FOUND, EACH)
        renamed[name] = replace(tensor, dims=_in_place_of(tensor.dims, index, new))
        once[name] = Fraction(points(tensor.dims, sizes), points(renamed[name].dims, sizes))
    tensors = tuple(renamed.get(tensor.name, tensor) for tensor in graph.tensors)
    return ByRow(replace(graph, extents=tuple(sizes.items()), tensors=tensors), once)


def _in_place_of(dims: Sequence[str], gone: Collection[str], new: Sequence[str]) -> tuple[str, ...]:
    """The dims with new ones where the first of those that go is."""
    at = next(number for number, dim in enumerate(dims) if dim in gone)
    return (*dims[:at], *new, *(dim for dim in dims[at:] if dim not in gone))
