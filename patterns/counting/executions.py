"""How often nodes are executed in a run, and which tensors change from one execution of their block to the next."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from patterns.graph import Block, Graph, Node
from patterns.kind import has


@dataclass(frozen=True)
class Repeats:
    """How often a block is executed. changing: tensors that are not the same in every execution of it."""

    executions: int = 1
    carried: frozenset[str] = frozenset()
    changing: frozenset[str] = frozenset()

    def finds_others(self, node: Node, storage: str) -> bool:
        """Whether a node finds other rows of a storage in every execution: those that it looks up change."""
        return has(node, "indexes") and node.reads[1] in self.changing and storage not in self.carried


ONCE = Repeats()


@lru_cache(maxsize=256)
def repeated(structure: Graph) -> tuple[tuple[Node, Repeats], ...]:
    """Every node of a structure, and how often it is executed."""
    of_blocks = [(block, _repeats(structure, block)) for block in structure.blocks]
    return tuple((node, repeats) for block, repeats in of_blocks for node in block.nodes)


def _repeats(graph: Graph, block: Block) -> Repeats:
    carried = frozenset(inside for inside, _ in block.carried)
    changing = set(carried) | {tensor.name for tensor in graph.tensors if graph.copies(tensor.name) > 1}
    changing |= {graph.tensor_named[node.writes].shares for node in block.nodes} - {""}
    for node in block.nodes:
        if changing.intersection(node.reads):
            changing.add(node.writes)
    return Repeats(block.count, carried, frozenset(changing))
