"""Which dims of a kernel's nodes its tiles have whole, because of what the nodes do with them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence, Set

from gpu_model.products.product import product_of
from patterns.axes import union
from patterns.count import node_dims
from patterns.graph import Graph, Node
from patterns.kind import has
from patterns.numbers.tiles import accumulated_dims, carried_dims, tiled_dims


def moved_dims(graph: Graph, nodes: Sequence[Node], made: Collection[str]) -> Iterator[str]:
    """Dims that a buffer changes between nodes of the kernel: its tile needs them whole.

    A buffer that reads from outside is only another address.
    """
    for node in nodes:
        if has(node, "moves") and any(name in made for name in node.reads):
            dims = [frozenset(graph.tensor_named[name].dims) for name in (*node.reads, node.writes)]
            together, common = frozenset[str]().union(*dims), dims[0].intersection(*dims)
            yield from together - common | ({node.along} if node.along else set())


def along_dims(graph: Graph, nodes: Sequence[Node], made: Set[str]) -> Iterator[str]:
    """Dims that nodes look up, move or go along.

    One of what comes from outside that a buffer's result does not have is not the kernel's: a slice is another address.
    """
    for node in nodes:
        elsewhere = has(node, "moves") and made.isdisjoint(node.reads)
        if node.along and not (elsewhere and node.along not in graph.tensor_named[node.writes].dims):
            yield node.along


def carried_dim(graph: Graph, nodes: Sequence[Node], made: Collection[str]) -> str:
    """The dim along which a state is carried, if it can be taken in steps; '' if there is none, or tiles need it whole.

    Two such dims cannot both be the innermost.
    """
    dims = union(*(carried_dims(node) for node in nodes))
    if len(dims) != 1 or dims[0] in {*moved_dims(graph, nodes, made)} or not used_once(graph, nodes, dims[0]):
        return ""
    (dim,) = dims
    needs_whole = (
        (node.along == dim and not carried_dims(node))
        or (dim in node.over and dim not in accumulated_dims(graph, node))
        for node in nodes
    )
    return "" if any(needs_whole) else dim


def gathered_dims(graph: Graph, nodes: Sequence[Node]) -> Iterator[str]:
    """Dims that rows are scattered from, where tiles cannot be: the order of rows, or who reads the result, forbids."""
    for node in nodes:
        if has(node, "updates"):
            tiled = tiled_dims(graph, node)
            for dim in accumulated_dims(graph, node):
                if dim not in tiled or not used_once(graph, nodes, dim):
                    yield dim


def made_dims(graph: Graph, node: Node) -> tuple[str, ...]:
    """Dims of what a node makes: of its result, or of the rows that it writes into it."""
    return graph.tensor_named[node.reads[2] if has(node, "updates") else node.writes].dims


def reduce_alike(nodes: Sequence[Node]) -> bool:
    """Whether all nodes that reduce do so over the same dims."""
    return len({frozenset(node.over) for node in nodes if node.over}) == 1


def block_dims(graph: Graph, nodes: Sequence[Node]) -> tuple[str, ...]:
    """Dims of blocks that both operands of every product have, and that all reduces beside the products add up."""
    products = [product_of(graph, node) for node in nodes if has(node, "contracts")]
    sums = [node for node in nodes if node.over and not has(node, "contracts")]
    if not products or len({frozenset(node.over) for node in sums}) != 1:
        return ()
    blocks = all(set(sums[0].over) <= set(product.batch) for product in products)
    return sums[0].over if blocks else ()


def used_once(graph: Graph, nodes: Sequence[Node], dim: str) -> bool:
    """Whether nobody reads what was gathered over a dim (reduced, scattered) together with that dim again."""
    after: set[str] = set()
    for node in nodes:
        if any(name in after for name in node.reads):
            if dim in node_dims(graph, node):
                return False
            after.add(node.writes)
        elif dim in accumulated_dims(graph, node):
            after.add(node.writes)
    return True
