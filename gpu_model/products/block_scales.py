"""Products of blocks that are scaled and added up in the kernel that multiplies them: fp8 with scales of blocks.

A matrix unit sums up within a block; the sum is multiplied by the scales of both blocks and added to that of the blocks
before, in registers. So the blocks are the kernel's steps, and it holds two sums for every result.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpu_model.joining.legal import Group, Grouping
from gpu_model.machine import Machine
from gpu_model.products.product import product_of
from gpu_model.tiles.spaces import spaces_of
from patterns.graph import Graph, Node
from patterns.kind import has

REASON = "a product of blocks with their scales, and what adds them up"


def join_block_scales(grouping: Grouping) -> Grouping:
    """A kernel that reduces the blocks of a product joins it, if the blocks can be its steps."""
    for node in grouping.nodes:
        ours = grouping.of[node.name]
        if not has(node, "reduces") or any(has(own, "contracts") for own in ours.nodes):
            continue
        reads = [name for own in ours.nodes for name in own.reads]
        makers = {maker.names: maker for maker in map(grouping.maker, reads) if maker and maker is not ours}
        products = [maker for maker in makers.values() if _has_blocks(grouping, maker.nodes, node)]
        if len(products) == 1:
            joined = grouping.together((products[0], ours), REASON)
            hides = [own.writes for own in products[0].nodes]
            grouping = grouping.settled(joined, grouping.refusal(joined, hides) or grouping.answers(_why_not, joined))
    return grouping


def _has_blocks(grouping: Grouping, nodes: Sequence[Node], reduce: Node) -> bool:
    """Whether kernels' products have the reduced dims in both operands; not where rows that are looked up have them."""
    if any(has(node, "indexes") for node in nodes):
        return False
    products = [product_of(grouping.graph, node) for node in nodes if has(node, "contracts")]
    return bool(products) and all(set(reduce.over) <= set(product.batch) for product in products)


def _why_not(graph: Graph, machine: Machine, group: Group) -> str:
    """Why nodes are not a product whose steps are blocks, '' if they are."""
    spaces = spaces_of(graph, group.nodes, group.inside)
    alike = all(space.is_product and space.promoting for space in spaces)
    return "" if alike else f"{group.nodes[-1].name} needs more than a block of the product at a time"
