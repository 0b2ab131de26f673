"""fused: a call for each execution of a block; inside it everything stays on chip."""

from __future__ import annotations

from patterns.graph import Graph
from rdu_model.orchestrate import Intended

RANK = 2


def calls(graph: Graph) -> tuple[Intended, ...]:
    """One call of every block."""
    return tuple(
        Intended(block, tuple(node.name for node in block.nodes), 1, "all nodes of one execution of the block")
        for block in graph.blocks
    )
