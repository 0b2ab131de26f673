"""Operations that go along an axis, each element from the one before."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from patterns.importers.onnx_ops.reductions import positions
from patterns.importers.onnx_trace.known import Arguments, Value
from patterns.importers.onnx_trace.model import Operation
from patterns.importers.onnx_trace.trace import Trace


def _sums(trace: Trace, operation: Operation) -> Value:
    """The sums of all elements so far; `reverse`: from the last element on."""
    value = trace.operand(operation.inputs[0])
    (at,) = positions(trace.ints(operation.inputs[1], "the axis")[:1], len(value.axes))
    value, along = trace.one_atom(value, at)
    backwards = bool(operation.attribute("reverse", 0))
    arguments: Arguments = {"exclusive": True} if operation.attribute("exclusive", 0) else {}
    if backwards:
        value = trace.emit("buffer", "flip", [value], trace.axes(value), along=along, part="turned")
    part = "sums" if backwards else ""
    made = trace.emit("scan", "sum", [value], trace.axes(value), along=along, arguments=arguments, part=part)
    return trace.emit("buffer", "flip", [made], trace.axes(made), along=along) if backwards else made


OPS: Mapping[str, Callable[[Trace, Operation], Value]] = {"CumSum": _sums}
