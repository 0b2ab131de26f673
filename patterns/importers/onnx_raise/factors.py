"""1 / sqrt(x + eps) in one map, as norms have it, and divisions by a root as products with it."""

from __future__ import annotations

from dataclasses import replace

from patterns.graph import Node
from patterns.importers.onnx_trace.rewrite import Change, View, rewritten
from patterns.importers.onnx_trace.sketch import Sketch

ORDER = 20


def raised(sketch: Sketch) -> Sketch:
    """The sketch with `rsqrt` for its parts."""
    return rewritten(rewritten(rewritten(sketch, _divided), _inverse), _shifted)


def _divided(view: View, node: Node) -> Change | None:
    """x / sqrt(y) is x times 1 / sqrt(y)."""
    if (node.kind, node.fn) != ("zip", "div"):
        return None
    root = view.inner(node.reads[1], "map", "sqrt")
    if root is None or len(view.tensor(root.writes).dims) >= len(view.tensor(node.reads[0]).dims):
        return None
    inverse = replace(root, fn="rsqrt")
    return Change((root.name, node.name), (inverse, replace(node, fn="mul")))


def _inverse(view: View, node: Node) -> Change | None:
    """1 / sqrt(y)."""
    root = view.inner(node.reads[0], "map", "sqrt") if (node.kind, node.fn) == ("map", "reciprocal") else None
    if root is None:
        return None
    return Change((root.name, node.name), (replace(node, fn="rsqrt", reads=root.reads),))


def _shifted(view: View, node: Node) -> Change | None:
    """1 / sqrt(y + eps)."""
    if (node.kind, node.fn) != ("map", "rsqrt") or node.arguments:
        return None
    shift = view.inner(node.reads[0], "map", "shift")
    if shift is None:
        return None
    eps = (("eps", shift.argument("by", 0.0)),)
    return Change((shift.name, node.name), (replace(node, reads=shift.reads, arguments=eps),))
