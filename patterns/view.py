"""A Graph as networkx sees it, for graph algorithms and drawings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patterns.graph import Graph

if TYPE_CHECKING:
    import networkx as nx


def networkx_view(graph: Graph) -> nx.MultiDiGraph[str]:
    """Nodes are pattern names with kind, fn, block and count; each read of a written tensor is an edge.

    An edge carries `tensor` (the name that is read), `position` among the reader's reads and `carried`: True from the
    writer of a block's carried result to those that read it in the next iteration. zip(x, x) has two parallel edges.
    """
    import networkx as nx

    view: nx.MultiDiGraph[str] = nx.MultiDiGraph(name=graph.name)
    for block, node in graph.nodes():
        view.add_node(node.name, kind=node.kind, fn=node.fn, block=block.name, count=block.count)
    writers = {node.writes: node.name for _, node in graph.nodes()}
    for block, node in graph.nodes():
        results = dict(block.carried)
        for position, tensor in enumerate(node.reads):
            if tensor in writers:
                view.add_edge(writers[tensor], node.name, tensor=tensor, position=position, carried=False)
            if tensor in results:
                view.add_edge(writers[results[tensor]], node.name, tensor=tensor, position=position, carried=True)
    return view
