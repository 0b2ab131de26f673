"""Collectives as calls of their own: a section ends before each, and what it sums goes through off-chip memory.

For contrast with collectives as stages of a pipeline: nothing overlaps with them, and each costs two calls more. What
loops over executions of a block would need all of it in one section, so such blocks are no longer looped.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from patterns.kind import has
from rdu_model.orchestrate import Intended


def apart(one: Intended) -> Iterator[Intended]:
    """The calls that an intended call becomes, in order; itself if it sums over no sockets or does nothing else."""
    alone = {node.name for node in one.block.nodes if has(node, "communicates")}.intersection(one.nodes)
    if not alone or len(one.nodes) == 1:
        yield one
        return
    between = "nodes between sums over sockets, which are calls of their own"
    if one.iterations > 1:
        between = f"not looped: {between}"
    # Each sum has a key of its own, so that two in a row are two calls.
    for key, names in groupby(one.nodes, key=lambda name: name if name in alone else ""):
        yield Intended(one.block, tuple(names), 1, "a sum over sockets" if key else between)
