"""A graph in outline: one box for each block, with what it comes to, and the tensors that go from one to another."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.diagram import Arrow, Box, Diagram, Look, drawn_tensors, end_box, end_key, given_box, sorted_results
from experiments.diagram import tensor_key as key_of_tensor
from experiments.text.quantity import bytes_text, scaled
from patterns.count import group_demand, group_traffic, ops
from patterns.graph import Block, Graph
from patterns.plural import number_of

BLOCK = Look("block", "#d6ebf8", "#0072b2")


def outline_of(graph: Graph) -> Diagram:
    """The outline of a graph. Work and bytes are of one execution of a block, all of its nodes as one call."""
    given = [given_box(tensor) for tensor in drawn_tensors(graph) if not tensor.block]
    blocks = [block_box(graph, block) for block in graph.blocks]
    ends = [end_box(graph.tensor_named[name]) for name in sorted_results(graph)]
    notes = ("one box for each block; operations and bytes are of one execution",)
    return Diagram(graph.name, notes, (*given, *blocks, *ends), tuple(dict.fromkeys(arrows(graph))))


def block_box(graph: Graph, block: Block) -> Box:
    """The box of a block."""
    names = tuple(node.name for node in block.nodes)
    work = scaled(ops(group_demand(graph, block.name, names)), "").replace("-", "no")
    moved = bytes_text(group_traffic(graph, block.name, names).total_bytes)
    title = f"{block.name} x {block.count}" if block.count > 1 else block.name
    return Box(key_of_block(block.name), (title, number_of(len(names), "node"), f"{work} ops, {moved}"), BLOCK)


def arrows(graph: Graph) -> Iterator[Arrow]:
    """What a block reads of inputs and of other blocks, what it hands to its next execution, and outputs."""
    makers = {node.writes: block.name for block, node in graph.nodes()}
    for block, node in graph.nodes():
        for name in node.reads:
            tensor = graph.tensor_named[name]
            if name in makers:
                if makers[name] != block.name:
                    yield Arrow(key_of_block(makers[name]), key_of_block(block.name), name)
            elif tensor.role != "weight" and not tensor.block:
                yield Arrow(key_of_tensor(name), key_of_block(block.name))
    for block in graph.blocks:
        if block.carried and block.count > 1:
            yield Arrow(key_of_block(block.name), key_of_block(block.name), again=True)
    for name in sorted_results(graph):
        yield Arrow(key_of_block(makers[name]), end_key(name))


def key_of_block(name: str) -> str:
    """The name of a block's box."""
    return f"block {name}"
