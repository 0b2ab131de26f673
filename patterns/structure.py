"""A graph without its extents: what all contexts and batches of a model have in common."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from patterns.graph import Graph


@lru_cache(maxsize=1024)
def structure_of(graph: Graph) -> Graph:
    """The graph without its extents: the same one for all that differ in nothing else."""
    return _only(replace(graph, name="", extents=(), formulas=(), requires=()))


@lru_cache(maxsize=4096)
def _only(structure: Graph) -> Graph:
    """Of equal structures the first: memos that have it as a key need not compare it."""
    return structure
