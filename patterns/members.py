"""A sum over the members of a group of one is no work: it is taken out of the graph."""

from __future__ import annotations

from dataclasses import replace

from patterns.graph import Block, Graph
from patterns.kind import has


def without_lone_members(graph: Graph) -> Graph:
    """The graph without the communication of groups of one member; their readers read what went into it.

    A node that makes an output of the graph from an input of it stays: both tensors must.
    """
    names: dict[str, str] = {}
    dropped = set()
    for _, node in graph.nodes():
        if not has(node, "communicates") or graph.sizes.get(node.along) != 1:
            continue
        source, result = _final(names, node.reads[0]), node.writes
        gone, stays = (source, result) if graph.tensor_named[result].role == "output" else (result, source)
        if graph.tensor_named[gone].role == "intermediate":
            names[gone] = stays
            dropped.add(node.name)
    if not dropped:
        return graph
    blocks = tuple(_renamed(block, dropped, names) for block in graph.blocks)
    return replace(graph, blocks=blocks, tensors=tuple(t for t in graph.tensors if t.name not in names))


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
