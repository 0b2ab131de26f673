"""The kernels of `library` with what follows a matrix product folded into it: bias, activation, rotary position,
residual and the rows of a cache end its tiles while they are in registers.

A product takes all readers of its result if the result then vanishes, and theirs in turn.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_model.fusion import library
from gpu_model.fusion.operator import read_as_strides
from gpu_model.joining.legal import Group, Grouping
from gpu_model.machine import Machine
from gpu_model.products.conversions import join_conversions
from gpu_model.tiles.spaces import spaces_of
from gpu_model.tiles.whole import made_dims
from gpu_model.tiles.within import ends_in_windows
from patterns.axes import points
from patterns.graph import Graph
from patterns.kind import has

RANK = 3
BY_STRUCTURE = True
REASON = "matrix products with what ends their tiles"


FIRST = (
    read_as_strides,
    library.join_lookups,
    library.join_attention,
    join_conversions,
    library.join_siblings,
)


def fuse(grouping: Grouping) -> Grouping:
    """Attention first, which ends in a product of its own; then products, what follows them, and the library's rest."""
    for rule in (*FIRST, join_ends):
        grouping = rule(grouping)
    return library.fuse(grouping)


def join_ends(grouping: Grouping) -> Grouping:
    """Every kernel of matrix products takes what follows it, tensor by tensor, until nothing more can be taken."""
    for node in grouping.nodes:
        todo = [node.writes] if has(node, "contracts") and not grouping.of[node.name].online else []
        while todo:
            before = grouping.of[node.name]
            grouping = _take_readers(grouping, before, todo.pop())
            if grouping.of[node.name] is not before:
                todo = list(_visible(grouping, grouping.of[node.name]))
    return grouping


def _visible(grouping: Grouping, group: Group) -> Iterator[str]:
    """Tensors that a kernel makes and another reads."""
    return (node.writes for node in group.nodes if any(g is not group for g in grouping.readers(node.writes)))


def _take_readers(grouping: Grouping, group: Group, tensor: str) -> Grouping:
    """With all that read a tensor in the kernel that makes it, where they only end its tiles."""
    readers = [other for other in grouping.readers(tensor) if other is not group]
    if not readers or not all(_light(other) for other in readers):
        return grouping
    joined = grouping.together((group, *readers), REASON)
    return grouping.settled(joined, grouping.refusal(joined, [tensor]) or grouping.answers(_why_not_ended, joined))


def _light(group: Group) -> bool:
    return all(
        has(node, "elementwise") or has(node, "moves") or has(node, "updates") or ends_in_windows(node, group.nodes)
        for node in group.nodes
    )


def _why_not_ended(graph: Graph, machine: Machine, group: Group) -> str:
    """Which node needs more than the tile of a result that a CTA has, '' if none does."""
    for space in spaces_of(graph, group.nodes, group.inside):
        made = [points(made_dims(graph, node), graph.sizes) for node in space.nodes if has(node, "contracts")]
        for node in space.nodes:
            if node.name in space.addresses:
                continue
            if points(made_dims(graph, node), graph.sizes) > max(made, default=0):
                return f"{node.name} makes more than its product does, so that a tile of that would be made again"
        if not space.is_product:
            return f"{space.nodes[-1].name} cannot end tiles: it needs dims again that the product sums up step by step"
    return ""
