"""operator: a call for each operator of a framework; nodes between two contractions, lookups or sums are one operator.

What contracts, looks up or writes rows, or sums over sockets is an operator by itself. Of the others, those that hand
a tensor on are one operator (a norm, a softmax, a rotary position), as long as none of the former lies between them.
What only addresses the operand of an operator (windows and pads of a convolution) is how its PMUs are read.
"""

from __future__ import annotations

from collections.abc import Iterator

from patterns.addressed import is_address
from patterns.graph import Block, Graph, Node
from patterns.kind import Trait, has
from patterns.order import waits_for
from rdu_model.orchestrate import Intended

RANK = 1
ALONE: tuple[Trait, ...] = ("contracts", "indexes", "communicates")


def calls(graph: Graph) -> tuple[Intended, ...]:
    """One call of every operator, in an order in which each finds what it reads."""
    return tuple(
        Intended(block, nodes, 1, "an operator of its own" if len(nodes) == 1 else "nodes of one operator")
        for block in graph.blocks
        for nodes in operators(graph, block)
    )


def operators(graph: Graph, block: Block) -> Iterator[tuple[str, ...]]:
    """The nodes of each operator of a block.

    The depth of a node counts those that stand alone before it, so that what hands a tensor on at one depth has none of
    them in between. What stands alone comes before the chains of its depth, which may read it.
    """
    depth: dict[str, int] = {}
    operator: dict[str, str] = {}
    node_named = {node.name: node for node in block.nodes}
    waiting = waits_for(graph, block.nodes)
    for node in block.nodes:
        before = [node_named[name] for name in waiting[node.name]]
        alone = stands_alone(node)
        depth[node.name] = max((depth[one.name] + alone for one in before), default=0)
        operator[node.name] = node.name
        for one in before if not alone else ():
            if depth[one.name] == depth[node.name] and not stands_alone(one):
                old, new = operator[one.name], operator[node.name]
                operator.update({name: new for name, of in operator.items() if of == old})
    for node in reversed(block.nodes):
        readers = {operator[name] for name in graph.readers(node.writes) if name in operator}
        if is_address(node) and len(readers) == 1:
            operator[node.name] = readers.pop()
    members: dict[str, list[str]] = {}
    for node in block.nodes:
        members.setdefault(operator[node.name], []).append(node.name)
    chains = {node.name for node in block.nodes if not stands_alone(node)}
    # Sorting keeps the order of the block among equals.
    yield from (tuple(names) for names in sorted(members.values(), key=lambda n: (depth[n[0]], n[0] in chains)))


def stands_alone(node: Node) -> bool:
    """Whether a node is an operator by itself."""
    return any(has(node, trait) for trait in ALONE)
