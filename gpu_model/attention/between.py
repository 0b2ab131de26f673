"""What the nodes of an attention kernel are for: which run in every step, and which wait for the last one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from gpu_model.products.product import Product
from gpu_model.tiles.space import Space
from patterns.count import node_dims
from patterns.counting.needed import masks
from patterns.graph import Node
from patterns.kind import has
from patterns.numbers.online import Partial, partials

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
