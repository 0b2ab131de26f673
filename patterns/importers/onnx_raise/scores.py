"""The scale of attention scores where patterns have it: after the product, once, not on queries and keys."""

from __future__ import annotations

from dataclasses import replace

from patterns.graph import Node
from patterns.importers.onnx_trace.rewrite import Change, View, rewritten
from patterns.importers.onnx_trace.sketch import Sketch

ORDER = 40


def raised(sketch: Sketch) -> Sketch:
    """The sketch with factors of both operands of a product behind it."""
    return rewritten(sketch, _match)


def _match(view: View, node: Node) -> Change | None:
    """A product of tensors that both depend on the inputs, one or both of them scaled."""
    if node.kind != "mm" or any(view.constant(name) is not None for name in node.reads):
        return None
    if view.tensor(node.writes).role != "intermediate" or node.reads[0] == node.reads[1]:
        return None
    by, gone, put, reads = 1.0, [node.name], [], []
    for name in node.reads:
        chain, scale = _scaled(view, name)
        if scale is None:
            reads.append(name)
            continue
        by *= float(scale.argument("by", 1.0))
        gone += [scale.name, *(move.name for move in chain)]
        moved, source = [], scale.reads[0]
        for move in reversed(chain):
            moved.append(replace(move, reads=(source,)))
            source = move.writes
        put += moved
        reads.append(source)
    if len(gone) == 1:
        return None
    plain = view.sketch.unused(f"{node.name}_unscaled")
    product = replace(node, name=plain, reads=tuple(reads), writes=plain)
    scaled = Node(node.name, "map", "scale", (plain,), node.writes, arguments=(("by", by),))
    tensors = {plain: replace(view.tensor(node.writes), name=plain)}
    return Change(tuple(gone), (*put, product, scaled), tensors)


def _scaled(view: View, name: str) -> tuple[list[Node], Node | None]:
    """Moves that make a tensor, last first, and the scale before them."""
    chain: list[Node] = []
    while view.only(name):
        maker = view.makers.get(name)
        if maker is None:
            break
        if (maker.kind, maker.fn) == ("map", "scale") and not maker.argument("inverse_root", 0):
            return chain, maker
        if maker.kind != "buffer" or len(maker.reads) != 1 or maker.fn == "pad":
            break
        chain.append(maker)
        name = maker.reads[0]
    return [], None
