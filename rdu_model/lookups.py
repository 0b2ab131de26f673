"""Contractions of rows that are looked up: their operand is read in place, and rows that are found again are read once.

A gather whose result only contractions of its section read is an address: the rows that a stream brought lie in PMUs,
and the addresses by which they are read come from the index. The lookups of a tile are taken by the row that they find,
so that each row which is found has a product with as many rows as lookups found it. Assumed: equally many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from patterns.axes import points, without
from patterns.graph import Graph, Node
from patterns.kind import has, kind_of


@dataclass(frozen=True)
class Lookup:
    """A gather that is an address. index: the dims of its index."""

    node: Node
    graph: Graph
    index: tuple[str, ...]

    def rows(self, sizes: Mapping[str, int]) -> int:
        """Rows that lookups of these extents find, at least one."""
        table = self.graph.tensor_named[self.node.reads[0]].dims
        (touched, _), _ = kind_of(self.node).touched(self.node, self.graph, sizes)
        return max(1, -(-touched // points(without(table, (self.node.along,)), sizes)))

    def each(self, sizes: Mapping[str, int]) -> int:
        """Lookups that find the same row."""
        return -(-points(self.index, sizes) // self.rows(sizes))

    def once(self, elements: int, sizes: Mapping[str, int]) -> int:
        """Elements of all lookups, those of rows that are found again once."""
        return elements * min(self.rows(sizes), points(self.index, sizes)) // points(self.index, sizes)


def lookups_among(graph: Graph, nodes: Sequence[Node]) -> dict[str, Lookup]:
    """The lookup of each contraction that has one, and of each address, by the node's name."""
    found: dict[str, Lookup] = {}
    for node in nodes:
        if not has(node, "indexes") or has(node, "updates"):
            continue
        lookup = Lookup(node, graph, graph.tensor_named[node.reads[1]].dims)
        readers = [other for other in nodes if node.writes in other.reads]
        if _is_inside(graph, node, readers) and all(_takes_rows(graph, other, lookup) for other in readers):
            found |= {node.name: lookup} | {other.name: lookup for other in readers}
    return found


def _is_inside(graph: Graph, node: Node, readers: Sequence[Node]) -> bool:
    """Whether what a node makes is for these readers alone."""
    carried = any(node.writes == result for block in graph.blocks for _, result in block.carried)
    return len(readers) == len(graph.readers(node.writes)) > 0 and node.writes not in graph.results and not carried


def _takes_rows(graph: Graph, node: Node, lookup: Lookup) -> bool:
    """Whether a contraction works for each lookup by itself, its table having no dims of the index."""
    made, table = graph.tensor_named[node.writes].dims, graph.tensor_named[lookup.node.reads[0]].dims
    apart = set(lookup.index) <= set(made) and not set(lookup.index).intersection((*node.over, *table))
    return has(node, "contracts") and apart and node.reads.count(lookup.node.writes) == 1
