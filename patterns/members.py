"""A sum over the members of a group of one is no work: it is taken out of the graph."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from patterns.graph import Block, Graph
from patterns.kind import has


def without_lone_members(graph: Graph) -> Graph:
    """The graph without the communication of groups of one member; their readers read what went into it.

    A node stays where one tensor cannot stand for both: its input and its result are both given or outputs; it reads a
    state, of which it is a copy; its result is seen outside the block and its input is made elsewhere; a block carries
    one of them and reads the other.
    """
    names: dict[str, str] = {}
    dropped = set()
    for block in graph.blocks:
        made = {node.writes for node in block.nodes}
        for node in block.nodes:
            if not has(node, "communicates") or graph.sizes.get(node.along) != 1:
                continue
            source, result = _final(names, node.reads[0]), node.writes
            seen = _seen_outside(graph, block, result)
            gone, stays = (source, result) if seen == "at the end" and source in made else (result, source)
            read = graph.tensor_named[source]
            free = graph.tensor_named[gone].role == "intermediate" and read.role != "state" and not read.shares
            if free and (source in made or not seen) and not _part(graph, names, source, result):
                names[gone] = stays
                dropped.add(node.name)
    if not dropped:
        return graph
    blocks = tuple(_renamed(block, dropped, names) for block in graph.blocks)
    # Intermediates come in the order in which they are made, as in any graph that is read.
    given = [tensor for tensor in graph.tensors if tensor.role != "intermediate"]
    made_now = [graph.tensor_named[node.writes] for block in blocks for node in block.nodes]
    return replace(graph, blocks=blocks, tensors=tuple(dict.fromkeys([*given, *made_now])))


def _seen_outside(graph: Graph, block: Block, result: str) -> Literal["", "by others", "at the end"]:
    """Who sees a tensor outside the block that makes it: other nodes and executions, or the run's results."""
    carried = any(result == made for other in graph.blocks for _, made in other.carried)
    readers = graph.readers(result)
    if graph.tensor_named[result].role == "output" or not (readers or carried):
        return "at the end"
    inside = {node.name for node in block.nodes}
    return "by others" if carried or not inside.issuperset(readers) else ""


def _part(graph: Graph, names: dict[str, str], source: str, result: str) -> bool:
    """Whether a block gives one of the two another value and uses the other."""
    for block in graph.blocks:
        inside = {_final(names, name) for name, _ in block.carried}
        reads = {_final(names, read) for node in block.nodes if node.writes != result for read in node.reads}
        if inside & {source, result} and {source, result} <= inside | reads:
            return True
    return False


def _final(names: dict[str, str], name: str) -> str:
    while name in names:
        name = names[name]
    return name


def _renamed(block: Block, dropped: set[str], names: dict[str, str]) -> Block:
    nodes = tuple(
        replace(node, reads=tuple(_final(names, read) for read in node.reads), writes=_final(names, node.writes))
        for node in block.nodes
        if node.name not in dropped
    )
    carried = tuple((_final(names, inside), _final(names, result)) for inside, result in block.carried)
    return replace(block, nodes=nodes, carried=carried)
