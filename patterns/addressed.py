"""Windows and pads that are only another address: chains of them on what comes from outside a set of nodes.

Whoever reads the last of a chain can find each element in the tensor itself, or sees that it is of a pad.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from patterns.axes import points
from patterns.count import node_dims
from patterns.graph import Graph, Node
from patterns.kind import has
from patterns.move import Reaching, reaching, words


@dataclass(frozen=True)
class Addresses:
    """A chain of nodes from the one that reads `tensor` on, each reading what the one before it makes."""

    graph: Graph
    nodes: tuple[Node, ...]

    @property
    def tensor(self) -> str:
        """What is read through the chain."""
        return self.nodes[0].reads[0]

    @property
    def result(self) -> str:
        """What it is read as."""
        return self.nodes[-1].writes

    @property
    def dims(self) -> tuple[str, ...]:
        """Of what it is read as."""
        return self.graph.tensor_named[self.result].dims

    def extents(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """How many elements along each dim of the tensor a tile of the result reaches, each counted once."""
        reached = dict(sizes)
        for node in reversed(self.nodes):
            whole = {**reached, node.along: self.graph.sizes[node.along]}
            reached[node.along] = _move(node).touched(node, (node.along,), whole)
        return reached

    def points(self, sizes: Mapping[str, int]) -> int:
        """Elements of the tensor that a tile of the result reaches."""
        return points(self.graph.tensor_named[self.tensor].dims, self.extents(sizes))


def _move(node: Node) -> Reaching:
    move = reaching(node)
    assert move is not None, f"{node.name} has no part for a tile"
    return move


def is_address(node: Node) -> bool:
    """Whether a node can be in such a chain: not one that calls its windows what it calls their operand's dim."""
    return has(node, "moves") and reaching(node) is not None and node.along not in words(node, "to")


def addresses(graph: Graph, nodes: Sequence[Node], inside: Collection[str]) -> tuple[Addresses, ...]:
    """The chains among nodes, each as long as nobody else reads what is between. inside: what nobody outside needs."""
    made = {node.writes for node in nodes}
    readers: dict[str, list[Node]] = {}
    for node in nodes:
        for name in dict.fromkeys(node.reads):
            readers.setdefault(name, []).append(node)
    return tuple(
        Addresses(graph, _chain(node, readers, inside))
        for node in nodes
        if is_address(node) and node.reads[0] not in made
    )


def _chain(first: Node, readers: Mapping[str, Sequence[Node]], inside: Collection[str]) -> tuple[Node, ...]:
    chain = [first]
    while chain[-1].writes in inside:
        then = readers.get(chain[-1].writes, ())
        if len(then) != 1 or not is_address(then[0]):
            break
        chain.append(then[0])
    return tuple(chain)


def dims_beside(graph: Graph, node: Node, chains: Sequence[Addresses]) -> tuple[str, ...]:
    """Every dim of a node; of one in a chain those by which its end is read."""
    return next((chain.dims for chain in chains if node in chain.nodes), node_dims(graph, node))
