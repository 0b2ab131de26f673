"""Windows inside a kernel: a tile of their results makes what they are of by itself, where no two share elements.

CTAs cannot see each other's tiles, so windows that overlap would be made of elements that another tile has.
"""

from __future__ import annotations

from collections.abc import Sequence

from patterns.addressed import is_address
from patterns.follow import Follow, follows
from patterns.graph import Graph, Node
from patterns.kind import has
from patterns.move import words


def within_tiles(graph: Graph, nodes: Sequence[Node]) -> tuple[Follow, ...]:
    """The dims of what the nodes make that follow those of windows, so that no tile needs them whole."""
    made = {node.writes for node in nodes}
    kept: list[Follow] = []
    lost: set[str] = {node.along for node in nodes if is_address(node)}
    for follow in follows(graph, nodes):
        if follow.node.reads[0] in made and follow.leader not in lost and follow.even and not follow.shares:
            kept.append(follow)
            lost.discard(follow.dim)
    return tuple(kept)


def ends_in_windows(node: Node, nodes: Sequence[Node]) -> bool:
    """Whether a node reduces nothing but the elements of windows, as a pooling does."""
    elements = {dim for other in nodes if is_address(other) for dim in words(other, "to")[1:]}
    return has(node, "reduces") and elements.issuperset(node.over)
