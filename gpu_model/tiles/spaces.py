"""From nodes to the spaces that a kernel of them has: dims that tiles may have a part of, and those they have whole."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import lru_cache

from gpu_model.joining.connected import connected
from gpu_model.products.lookups import by_row, lookups
from gpu_model.tiles.access import Access, accesses, written
from gpu_model.tiles.space import Space
from gpu_model.tiles.whole import (
    along_dims,
    block_dims,
    carried_dim,
    gathered_dims,
    made_dims,
    moved_dims,
    reduce_alike,
    used_once,
)
from gpu_model.tiles.within import ends_in_windows, within_tiles
from patterns.addressed import addresses
from patterns.axes import points, union, without
from patterns.follow import Follow, leaders
from patterns.graph import Graph, Node
from patterns.kind import has
from patterns.numbers.tiles import new_dims
from patterns.seen import part_of


def spaces_of(
    graph: Graph, nodes: Sequence[Node], inside: Collection[str], online: Collection[str] = ()
) -> tuple[Space, ...]:
    """One space for each set of nodes that hand tensors to each other, in the order of their first nodes.

    inside: tensors that nobody else needs, so that they are not written.
    """
    made = frozenset(node.writes for node in nodes).intersection(inside)
    return _spaces(part_of(graph, nodes), tuple(nodes), made, tuple(online))


@lru_cache(maxsize=8192)
def _spaces(part: Graph, nodes: tuple[Node, ...], inside: frozenset[str], online: tuple[str, ...]) -> tuple[Space, ...]:
    """Memo of `spaces_of`. The key has of the graph what the nodes see, so that other graphs with the same share it."""
    return tuple(_space(part, group, inside, online) for group in connected(nodes))


def _space(graph: Graph, nodes: tuple[Node, ...], inside: Collection[str], online: Collection[str]) -> Space:
    taken = None if online else by_row(graph, nodes, inside)
    if taken is None:
        return _as_written(graph, nodes, inside, online)
    space = _as_written(taken.graph, nodes, inside, online)
    reads, writes = (
        tuple(replace(access, once=access.once * taken.once.get(access.tensor, 1)) for access in accesses)
        for accesses in (space.reads, space.writes)
    )
    return replace(space, reads=reads, writes=writes)


def _as_written(graph: Graph, nodes: tuple[Node, ...], inside: Collection[str], online: Collection[str]) -> Space:
    made = {node.writes for node in nodes if not graph.tensor_named[node.writes].shares}
    chains = addresses(graph, nodes, inside)
    between = {node.name for chain in chains for node in chain.nodes}
    others = [node for node in nodes if node.name not in between]
    followed = within_tiles(graph, others)
    moving = [node for node in others if node not in [follow.node for follow in followed]]
    carried = carried_dim(graph, moving, made)
    whole = {*moved_dims(graph, moving, made), *along_dims(graph, moving, made)} - {carried}
    whole.update(*(new_dims(graph, node) for node in others if not has(node, "moves")))
    reduced = union(*(node.over for node in nodes))
    made_by = [*(made_dims(graph, node) for node in others), *(chain.dims for chain in chains)]
    widest = max(made_by, key=lambda dims: points(dims, graph.sizes))
    own = {follow.dim for follow in followed}
    free = without(union(widest, *made_by), whole | own | {*reduced, carried} | set(gathered_dims(graph, nodes)))
    sums = [node for node in nodes if not (followed and ends_in_windows(node, others))]
    reduced = union(*(node.over for node in sums))
    candidates = reduced if reduce_alike(sums) else block_dims(graph, sums)
    stepped = tuple(online) or tuple(dim for dim in candidates if used_once(graph, nodes, dim))
    if carried:  # sums over other dims would have to be kept while the carried one is gone through
        stepped = (carried,)
    reads = [_led(access, followed) for access in accesses(graph, nodes, made, chains)]
    writes = [written(graph, node) for node in nodes if node.writes not in inside]
    kept, looked_up = without(stepped, whole), lookups(nodes, inside)
    return Space(graph, nodes, tuple(reads), tuple(writes), free, kept, chains, looked_up, followed)


def _led(access: Access, followed: Sequence[Follow]) -> Access:
    """With the dims that those of the tensor follow, so that tiles along these have other parts of it."""
    if not followed:
        return access
    return replace(access, led=leaders(followed, frozenset(access.dims)) - frozenset(access.dims))
