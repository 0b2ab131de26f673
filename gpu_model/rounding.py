"""Where a kernel rounds: what it leaves in memory. Operands of its matrix products are rounded as they are read."""

from __future__ import annotations

from collections.abc import Sequence

from patterns.count import hidden
from patterns.graph import Graph, Node


def rounded_results(graph: Graph, nodes: Sequence[Node]) -> frozenset[str]:
    """Results of a kernel of these nodes that are rounded to their types where they are made.

    Values, sums and maxima that stay in the kernel's registers are fp32.
    """
    return frozenset(node.writes for node in nodes) - hidden(graph, [node.name for node in nodes])
