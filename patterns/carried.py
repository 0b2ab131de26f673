"""Ways to carry a state along a dim: from element to element, or in parts side by side that are put together after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from patterns.axes import points
from patterns.graph import Graph, Node
from patterns.kind import Carrying, Demand, kind_of
from patterns.numbers.tiles import carried_dims


@dataclass(frozen=True)
class Way:
    """demand: of all elements. in_a_row: ops of which each needs the result of the one before; 0 if none do."""

    demand: Demand
    in_a_row: int = 0


def ways(graph: Graph, node: Node, sizes: Mapping[str, int]) -> tuple[Way, ...]:
    """Of a node with these extents, the one with least work first.

    Side by side, parts are summed up as a tree and what comes before each is handed down again: two ops in a row for
    each doubling (Blelloch, Prefix sums and their applications, CMU-CS-90-190, section 1.2).
    """
    demand, along = kind_of(node).demand(node, graph, sizes), carried_dims(node)
    if not along:
        return (Way(demand),)
    elements = points(along, sizes)
    beside = cast(Carrying, kind_of(node)).demand_beside(node, graph, sizes)
    return Way(demand, elements), Way(beside, max(1, 2 * (elements - 1).bit_length()))
