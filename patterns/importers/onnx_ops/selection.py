"""The greatest elements along an axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from patterns.importers.onnx_ops.reductions import positions
from patterns.importers.onnx_trace.known import Arguments, Unsupported, Value, Wrong
from patterns.importers.onnx_trace.model import Operation
from patterns.importers.onnx_trace.trace import Trace


def _top(trace: Trace, operation: Operation) -> tuple[Value, ...]:
    """Values and indices, each a node of its own."""
    value = trace.operand(operation.inputs[0])
    (at,) = positions((int(operation.attribute("axis", -1)),), len(value.axes))
    if "k" in operation.attributes:
        count = int(operation.attributes["k"])
    else:
        count = sum(trace.ints("".join(operation.inputs[1:2]), "k")[:1])
    if not operation.attribute("largest", 1):
        raise Unsupported("the least elements")
    if not 1 <= count <= trace.shape(value)[at]:
        raise Wrong(f"the {count} greatest of {trace.shape(value)[at]}")
    value, along = trace.one_atom(value, at)
    to = trace.atoms.new(count)
    trace.atoms.keep_whole(to)
    axes = trace.axes(value)
    axes = (*axes[:at], (to,), *axes[at + 1 :])
    arguments: Arguments = {"to": (to,)}
    return tuple(
        trace.emit(
            "select",
            fn,
            [value],
            axes,
            along=along,
            arguments=arguments,
            new=(to,),
            dtype=dtype,
            part=fn,
        )
        for fn, dtype in (("values", trace.dtype(value)), ("indices", "int32"))
    )


OPS: Mapping[str, Callable[[Trace, Operation], tuple[Value, ...]]] = {"TopK": _top}
