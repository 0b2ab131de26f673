"""Work that no kernel can avoid: elements that a mask keeps, once what may be folded or taken out of a loop is.

Of two dims that a mask compares, the rows are taken to be the last ones of the columns: a causal mask's queries are
the last `seq` positions of the context, as in a prefill of a whole prompt and in a decode step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from patterns.axes import points, without
from patterns.count import node_demand, node_dims, total_demand
from patterns.functions.by_name import FUNCTIONS
from patterns.functions.function import Function
from patterns.graph import Graph, Node
from patterns.kind import Demand, has
from patterns.seen import alike, part_of, seen_by
from patterns.structure import structure_of


@dataclass(frozen=True)
class Mask:
    """What a masked node keeps: of row r those columns that are not after column r + columns - rows.

    window: of those the last so many; 0 for all of them.
    """

    node: str
    row: str
    column: str
    rows: int
    columns: int
    window: int = 0

    def kept(self, end: int) -> int:
        """Columns that the rows before row `end` need, at least one."""
        return min(self.columns, max(1, self.columns - self.rows + end))

    def first(self, start: int) -> int:
        """The first column that row `start`, and so any row after it, needs."""
        return max(0, self.columns - self.rows + start + 1 - self.window) if self.window else 0

    @property
    def kept_pairs(self) -> int:
        """Pairs of a row and a column that are kept."""
        # What is before every window is what a mask without one would keep, were there so many columns fewer.
        before = self.columns - self.window if self.window else 0
        return _not_after(self.rows, self.columns) - _not_after(self.rows, max(0, before))


def _not_after(rows: int, columns: int) -> int:
    """Pairs in which the column is not after column row + columns - rows."""
    most = min(rows, columns)
    return most * (most + 1) // 2 + max(0, columns - rows) * rows


def function_of(node: Node) -> Function | None:
    """The scalar function of an elementwise node; None for others."""
    return FUNCTIONS.get(node.kind, {}).get(node.fn) if has(node, "elementwise") else None


def masks(graph: Graph, nodes: Sequence[Node]) -> Iterator[Mask]:
    """Masks among the nodes that compare one dim of their result with another."""
    for node, made in _keepers(tuple(nodes)):
        own, below = (graph.tensor_named[name].dims for name in node.reads[1:3])
        rows, columns = without(own, below), without(below, own)
        # A dim that only tells sequences apart is no row: every sequence has its own positions.
        row = rows[-1] if rows else ""
        if row and len(columns) == 1:
            window = int(node.argument("window", 0)) if made.keeps == "window" else 0
            yield Mask(node.name, row, columns[0], graph.sizes[row], graph.sizes[columns[0]], window)


@lru_cache(maxsize=1024)
def _keepers(nodes: tuple[Node, ...]) -> tuple[tuple[Node, Function], ...]:
    """Nodes that keep a part of what they read, with their functions."""
    found = ((node, function_of(node)) for node in nodes)
    return tuple((node, made) for node, made in found if made is not None and made.keeps)


@lru_cache(maxsize=64)
def needed_demand(graph: Graph) -> Demand:
    """Work of one run that cannot be avoided, at most the graph's demand."""
    found = []
    for block in graph.blocks:
        masked = tuple(masks(graph, block.nodes))
        for nodes in alike(structure := structure_of(graph), block.nodes):
            dims = seen_by(structure, nodes).dims
            own = tuple(mask for mask in masked if mask.row in dims and mask.column in dims)
            found.append((_needed_by(part_of(graph, nodes), nodes, own), block.count))
    return total_demand(found)


@lru_cache(maxsize=2048)
def _needed_by(part: Graph, nodes: tuple[Node, ...], masked: tuple[Mask, ...]) -> Demand:
    """Of nodes. part: what they see of a graph."""
    return total_demand((_needed(part, node, masked), 1) for node in nodes)


def _needed(graph: Graph, node: Node, masked: Sequence[Mask]) -> Demand:
    demand = node_demand(graph, node)
    made = function_of(node)
    if made is not None:
        demand = _unfolded(graph, node, made, demand)
    dims = () if has(node, "indexes") else node_dims(graph, node)
    for mask in masked:
        if mask.row in dims and mask.column in dims:
            return _share(demand, mask.kept_pairs, mask.rows * mask.columns)
    return demand


def _unfolded(graph: Graph, node: Node, made: Function, demand: Demand) -> Demand:
    """What is left of an elementwise node's ops: affine ones fold into what they feed, masks are known beforehand.

    The multiply before or after a special op is affine too. Where an operand has fewer elements than the result, the
    special ops (a reciprocal) are one for each of those.
    """
    elements = points(graph.tensor_named[node.writes].dims, graph.sizes)
    fewest = min(elements, *(points(graph.tensor_named[name].dims, graph.sizes) for name in node.reads))
    folded = demand.vector_ops if made.affine or made.keeps else elements if made.special_ops else 0
    special = min(demand.special_ops, made.special_ops * fewest)
    return Demand(0, max(0, demand.vector_ops - folded), special, demand.network_bytes)


def _share(demand: Demand, kept: int, of: int) -> Demand:
    """The part of a demand that is kept, rounded down."""
    return Demand(
        demand.matrix_flops * kept // of,
        demand.vector_ops * kept // of,
        demand.special_ops * kept // of,
        demand.network_bytes,
    )
