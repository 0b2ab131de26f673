"""unfused: a call for each node, and everything between two nodes through HBM."""

from __future__ import annotations

from patterns.graph import Graph
from rdu_model.orchestrate import Intended

# How much a mode fuses, for listing them in order.
RANK = 0


def calls(graph: Graph) -> tuple[Intended, ...]:
    """One call of every node, in order."""
    return tuple(
        Intended(block, (node.name,), 1, "each node is its own call: unfused") for block, node in graph.nodes()
    )
