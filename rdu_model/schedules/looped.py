"""looped: a repeated block is one call whose outermost pipe goes through its executions (kernel looping)."""

from __future__ import annotations

from patterns.graph import Graph
from rdu_model.orchestrate import Intended

RANK = 3


def calls(graph: Graph) -> tuple[Intended, ...]:
    """One call of every block, with all its executions inside."""
    return tuple(
        Intended(
            block,
            tuple(node.name for node in block.nodes),
            block.count,
            f"all {block.count} executions of the block in one pipelined loop"
            if block.count > 1
            else "the whole block",
        )
        for block in graph.blocks
    )
