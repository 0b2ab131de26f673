"""What the nodes of an attention kernel are for: which run in every step, and which wait for the last one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from gpu_model.cuts import Cut
from gpu_model.product import Product
from gpu_model.space import Space
from patterns.count import node_dims
from patterns.graph import Node
from patterns.kind import has, packs
from patterns.needed import masks
from patterns.online import Partial, partials
from patterns.plan import Tile

WHOLE = Partial("whole")


@dataclass(frozen=True)
class Between:
    """softmax: nodes that compute on all scores, in every step. Names of nodes: waiting, which divide by a sum that is
    complete in the last step only; ending, elementwise ones that need the result of the last product; extremes, which
    find the greatest score so far. rows: of nodes that mask scores, the dim that tells a mask's rows apart.
    """

    softmax: tuple[Node, ...]
    waiting: frozenset[str]
    ending: frozenset[str]
    extremes: frozenset[str]
    rows: Mapping[str, str]


@lru_cache(maxsize=256)
def between(space: Space) -> Between:
    """The nodes of a kernel with products around a reduce, whatever its tiles are."""
    last = space.products[-1]
    partial = partials(space.graph, space.nodes, last.inner[0]) if last.inner else {}
    waiting = frozenset(node.name for node in space.nodes if _waits(node, partial))
    return Between(
        tuple(node for node in space.nodes if _on_scores(space, node, last) and node.name not in waiting),
        waiting,
        frozenset(_ending(space.nodes, last)),
        frozenset(node.name for node in space.nodes if partial.get(node.writes, WHOLE).state == "extreme"),
        {mask.node: mask.row for mask in masks(space.graph, space.nodes)},
    )


def alike(cut: Cut) -> Cut:
    """A cut whose tile is all there is of its space, where what a tile asks for depends on nothing else.

    So tiles of different contexts and batches are equal. Nodes that look up, select, send or move ask for more or less
    by what there is besides: their cuts stay as they are.
    """
    frame = _frame(cut.space)
    if frame is None:
        return cut
    return _filled(frame, tuple(cut.sizes.items()), tuple(step.dim for step in cut.steps))


@lru_cache(maxsize=256)
def _frame(space: Space) -> Space | None:
    """The space without extents, one for all that differ in nothing else; None where these decide more than sizes."""
    if space.chains or space.looked_up or space.followed or not all(_asks_by_extents(node) for node in space.nodes):
        return None
    graph = replace(space.graph, extents=())
    return _only(Space(graph, space.nodes, (), space.writes, space.free, space.stepped))


@lru_cache(maxsize=256)
def _only(frame: Space) -> Space:
    """Of equal frames the first: memos that have it as a key need not compare it."""
    return frame


@lru_cache(maxsize=2048)
def _filled(frame: Space, extents: tuple[tuple[str, int], ...], stepped: tuple[str, ...]) -> Cut:
    """Memo of `alike` by the frame, the extents of the tile, and the dims of its steps."""
    sizes = dict(extents)
    whole = replace(frame, graph=replace(frame.graph, extents=extents))
    return Cut(whole, (), tuple(Tile(dim, sizes[dim]) for dim in stepped))


def _asks_by_extents(node: Node) -> bool:
    """Whether what a node does follows from the extents of its tile."""
    return has(node, "elementwise") or has(node, "contracts") or (has(node, "reduces") and not packs(node))


def _waits(node: Node, partial: Mapping[str, Partial]) -> bool:
    total = partial.get(node.writes, WHOLE).total
    return bool(total) and total in node.reads


def _on_scores(space: Space, node: Node, last: Product) -> bool:
    on_scores = set(last.inner) <= set(node_dims(space.graph, node)) and node.name not in space.converted
    return on_scores and (has(node, "elementwise") or has(node, "reduces"))


def _ending(nodes: Sequence[Node], last: Product) -> Iterator[str]:
    made = {node.writes for node in nodes if node.name == last.node}
    for node in nodes:
        if has(node, "elementwise") and made.intersection(node.reads):
            made.add(node.writes)
            yield node.name
