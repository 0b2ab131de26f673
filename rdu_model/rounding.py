"""Where a section rounds: between its stages, in the PMUs."""

from __future__ import annotations

from collections.abc import Sequence

from patterns.graph import Graph, Node


def rounded_results(graph: Graph, nodes: Sequence[Node]) -> frozenset[str]:
    """Results of a section of these nodes that are rounded to their types where they are made.

    Each node is a stage, and what a stage makes goes through a PMU buffer in its type; sums that a stage has not
    finished are fp32.
    """
    return frozenset(node.writes for node in nodes)
