"""A space without extents: what kernels of all contexts and batches have in common, whose tiles may be equal."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from gpu_model.tiles.space import Space
from patterns.graph import Node
from patterns.kind import has, packs


@lru_cache(maxsize=1024)
def frame_of(space: Space) -> Space | None:
    """The space without extents, one for all that differ in nothing else; None where these decide more than sizes.

    Nodes that look up, select, send or move ask for more or less by what there is besides their tile.
    """
    if space.chains or space.looked_up or space.followed or not all(_asks_by_extents(node) for node in space.nodes):
        return None
    return _only(replace(space, graph=replace(space.graph, extents=())))


@lru_cache(maxsize=1024)
def _only(frame: Space) -> Space:
    """Of equal frames the first: memos that have it as a key need not compare it."""
    return frame


def _asks_by_extents(node: Node) -> bool:
    """Whether what a node does follows from the extents of its tile."""
    return has(node, "elementwise") or has(node, "contracts") or (has(node, "reduces") and not packs(node))
