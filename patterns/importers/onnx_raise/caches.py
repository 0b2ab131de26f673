"""A cache that goes in, is made longer by this run's rows and comes out is a state into which the rows are written."""

from __future__ import annotations

from dataclasses import replace

from patterns.graph import Node
from patterns.importers.onnx_trace.counted import counted
from patterns.importers.onnx_trace.rewrite import Change, View, rewritten
from patterns.importers.onnx_trace.sketch import Sketch

ORDER = 35


def raised(sketch: Sketch) -> Sketch:
    """The sketch with states for such inputs; what came out is what they are in the end."""
    return rewritten(sketch, _match)


def _match(view: View, node: Node) -> Change | None:
    """concat(past, rows), where `past` is an input of nothing else and the result comes out too."""
    if (node.kind, node.fn) != ("buffer", "concat") or len(node.reads) != 2:
        return None
    past, rows = (view.tensor(name) for name in node.reads)
    result = view.tensor(node.writes)
    own = [[dim for dim in tensor.dims if dim not in result.dims] for tensor in (past, rows)]
    alone = past.role == "input" and len(view.readers[past.name]) == 1
    if not alone or result.role != "output" or not view.readers.get(result.name) or [len(d) for d in own] != [1, 1]:
        return None
    (before,), (new,) = own
    context = str(node.argument("to", ""))
    index, tensors, constants = counted(view, "positions", new, view.sketch.sizes[before])
    dims = tuple(context if dim == before else dim for dim in past.dims)
    made = Node(node.name, "scatter", "set", (past.name, index, rows.name), node.writes, along=context)
    state = replace(past, role="state", dims=dims)
    written = replace(result, role="intermediate", dims=dims, shares=past.name)
    return Change((node.name,), (made,), {**tensors, past.name: state, result.name: written}, constants)
