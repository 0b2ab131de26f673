"""Segments to a graph with blocks: what later blocks read has the name that the block gives it, weights are stacked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from patterns.graph import Block, Graph, Node, Tensor
from patterns.importers.onnx_trace.layers import Segment
from patterns.importers.onnx_trace.model import Constant
from patterns.importers.onnx_trace.name_nodes import Named
from patterns.importers.onnx_trace.sketch import Sketch
from patterns.load import MAX_BYTES
from patterns.read import parse_graph
from patterns.write import write_graph


def assembled(
    sketch: Sketch, parts: Sequence[Segment], named: Named, name: str
) -> tuple[Graph, dict[str, tuple[Constant, ...]]]:
    """The graph, and the constants of each weight: one for every time that its block is executed."""
    names = dict(named.tensors)
    for part in parts:
        # After a block, what it made last has the name of what it makes first.
        names |= {last: names[first] for first, last in part.last}
    blocks, owners = [], {}
    constants: dict[str, tuple[Constant, ...]] = {}
    for part, block in zip(parts, named.blocks, strict=True):
        nodes = tuple(_renamed(node, names) for node in part.nodes)
        carried = tuple((names[inside], names[result]) for inside, result in part.carried)
        blocks.append(Block(block, part.count, nodes, carried))
        for copies in part.weights:
            owners[copies[0]] = block
            if copies[0] in sketch.constants:
                constants[names[copies[0]]] = tuple(sketch.constants[copy] for copy in copies)
        if len(parts) > 1:
            owners |= {node.writes: block for node in part.nodes if sketch.tensors[node.writes].role != "output"}
    used = {read for part in parts for node in part.nodes for read in node.reads}
    tensors = _tensors(sketch, parts, names, owners, used)
    for tensor in sketch.constants:
        if tensor in used and names[tensor] not in constants:
            constants[names[tensor]] = (sketch.constants[tensor],)
    dims = {dim for tensor in tensors for dim in tensor.dims}
    extents = tuple((dim, size) for dim, size in sketch.sizes.items() if dim in dims)
    graph = Graph(name, extents, tensors, tuple(blocks))
    return _as_read(graph), constants


def _renamed(node: Node, names: Mapping[str, str]) -> Node:
    reads = tuple(names[read] for read in node.reads)
    return replace(node, name=names[node.writes], reads=reads, writes=names[node.writes])


def _tensors(
    sketch: Sketch, parts: Sequence[Segment], names: Mapping[str, str], owners: Mapping[str, str], used: set[str]
) -> tuple[Tensor, ...]:
    made = [node.writes for part in parts for node in part.nodes]
    given = [
        t.name
        for t in sketch.tensors.values()
        if t.role == "input" or (t.role in ("weight", "state") and t.name in used)
    ]
    outputs = [name for name in made if sketch.tensors[name].role == "output"]
    ordered = dict.fromkeys([*given, *outputs, *made])
    found = (sketch.tensors[name] for name in ordered)
    return tuple(
        replace(t, name=names[t.name], block=owners.get(t.name, ""), shares=names.get(t.shares, "")) for t in found
    )


def _as_read(graph: Graph) -> Graph:
    """The graph as it reads back from its file, which brings its tensors into the order that files have."""
    text = write_graph(graph)
    return parse_graph(text) if len(text) < MAX_BYTES else graph
