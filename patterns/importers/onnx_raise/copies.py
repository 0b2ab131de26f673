"""Nodes that change nothing: copies, factors of one, and what guards against rows that are not numbers."""

from __future__ import annotations

from dataclasses import replace

from patterns.graph import Node
from patterns.importers.onnx_trace.sketch import Sketch

ORDER = 60


def raised(sketch: Sketch) -> Sketch:
    """The sketch without them; an output keeps its copy."""
    names: dict[str, str] = {}
    kept: list[Node] = []
    makers = {node.writes: node for node in sketch.nodes}
    for node in sketch.nodes:
        node = replace(node, reads=tuple(names.get(name, name) for name in node.reads))
        source = _same(node, makers, sketch)
        if source is not None and sketch.tensors[node.writes].role == "intermediate":
            names[node.writes] = names.get(source, source)
        else:
            kept.append(node)
    return _needed(sketch.with_nodes(kept))


def _same(node: Node, makers: dict[str, Node], sketch: Sketch) -> str | None:
    """The tensor that a node only copies."""
    if node.kind == "map" and (node.fn == "copy" or (node.fn == "scale" and node.arguments == (("by", 1.0),))):
        return node.reads[0]
    if (node.kind, node.fn) == ("map", "shift") and node.arguments == (("by", 0.0),):
        return node.reads[0]
    if (node.kind, node.fn) == ("zip", "where"):
        # Whoever masks a whole row gets zeros here without asking for them.
        test = makers.get(node.reads[0])
        guards = test is not None and (test.kind, test.fn, test.reads) == ("map", "is_nan", node.reads[2:])
        if guards and _is_zero(sketch, node.reads[1]):
            return node.reads[2]
    return None


def _is_zero(sketch: Sketch, name: str) -> bool:
    constant = sketch.constants.get(name)
    return constant is not None and not constant.load().any()


def _needed(sketch: Sketch) -> Sketch:
    """The sketch without nodes that nobody reads."""
    wanted = {name for name, tensor in sketch.tensors.items() if tensor.role == "output"}
    kept: list[Node] = []
    for node in reversed(sketch.nodes):
        if node.writes in wanted:
            wanted.update(node.reads)
            kept.append(node)
    return sketch.with_nodes(kept[::-1])
