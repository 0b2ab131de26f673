"""Operations that take a dim away: sums, means, greatest elements, pooling over everything; and softmax."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from patterns.importers.onnx_ops.elementwise import zipped
from patterns.importers.onnx_trace.atoms import Axis
from patterns.importers.onnx_trace.known import Unsupported, Value, Wrong, flat
from patterns.importers.onnx_trace.model import Operation
from patterns.importers.onnx_trace.trace import Trace


def positions(axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """Axes counted from 0. Raises Wrong for one that there is not, or twice."""
    if any(not -rank <= axis < rank for axis in axes):
        raise Wrong(f"axes {list(axes)} of a value of rank {rank}")
    found = tuple(axis % rank for axis in axes)
    if len(set(found)) != len(found):
        raise Wrong(f"axes {list(axes)} has an axis twice")
    return found


def asked_axes(trace: Trace, operation: Operation, at: int = 1) -> tuple[int, ...] | None:
    """The axes of an operation, from an attribute or, in later versions, from an input; None if not given."""
    given = operation.attributes.get("axes")
    if given is not None:
        return tuple(given)
    name = operation.inputs[at] if len(operation.inputs) > at else ""
    return trace.ints(name, "axes") if name else None


def reduced(trace: Trace, fn: str, value: Value, at: tuple[int, ...], keep: bool, part: str = "") -> Value:
    """A reduction over some axes; those that are kept have extent 1."""
    all_axes = trace.axes(value)
    gone = flat(all_axes[position] for position in at)
    over = tuple(atom for atom in gone if atom in trace.held(value))
    axes = tuple(axis if n not in at else () for n, axis in enumerate(all_axes) if keep or n not in at)
    result = trace.emit("reduce", fn, [value], axes, over=over, part=part) if over else Value(axes, value.tensor)
    spread = trace.atoms.size(a for a in gone if a not in over)
    return trace.map("scale", result, part=f"{part}spread", by=float(spread)) if fn == "sum" and spread > 1 else result


def _reduce(fn: str, trace: Trace, operation: Operation) -> Value:
    value = trace.operand(operation.inputs[0])
    asked = asked_axes(trace, operation)
    if not asked and operation.attribute("noop_with_empty_axes", 0):
        return value
    at = positions(asked, len(value.axes)) if asked else tuple(range(len(value.axes)))
    keep = bool(operation.attribute("keepdims", 1))
    if fn == "square_sum":
        return reduced(trace, "sum", trace.map("square", value, part="squares"), at, keep)
    if fn == "norm":
        squares = trace.map("square", value, part="squares")
        return trace.map("sqrt", reduced(trace, "sum", squares, at, keep, part="sum"))
    return reduced(trace, fn, value, at, keep)


def _global(fn: str, trace: Trace, operation: Operation) -> Value:
    value = trace.operand(operation.inputs[0])
    return reduced(trace, fn, value, tuple(range(2, len(value.axes))), True)


def _argmax(trace: Trace, operation: Operation) -> Value:
    if operation.attribute("select_last_index", 0):
        raise Unsupported("the last of equals")
    value = trace.operand(operation.inputs[0])
    (at,) = positions((int(operation.attribute("axis", 0)),), len(value.axes))
    if operation.op == "ArgMin":
        value = trace.map("neg", value, part="negative")
    value, whole = trace.one_atom(value, at)
    keep = operation.attribute("keepdims", 1)
    axes = tuple(axis if n != at else () for n, axis in enumerate(trace.axes(value)) if keep or n != at)
    return trace.emit("reduce", "argmax", [value], axes, over=(whole,), dtype="int32")


def softmax(trace: Trace, value: Value, over: Axis, part: str = "") -> Value:
    """e^(x - max) over its sum, as one writes it in patterns."""
    value = trace.solid(value, over)
    at = tuple(n for n, axis in enumerate(trace.axes(value)) if set(axis) & set(over))
    top = reduced(trace, "max", value, at, True, part="top")
    exponentials = trace.map("exp", zipped(trace, "sub", value, top, part="shifted"), part="exponentials")
    total = reduced(trace, "sum", exponentials, at, True, part="total")
    return zipped(trace, "div", exponentials, total, part)


def _softmax_axes(trace: Trace, operation: Operation, value: Value) -> tuple[int, ...]:
    """Before version 13 a softmax is over an axis and all that follow."""
    old = trace.opset < 13
    (at,) = positions((int(operation.attribute("axis", 1 if old else -1)),), len(value.axes))
    return tuple(range(at, len(value.axes))) if old else (at,)


def _softmax(trace: Trace, operation: Operation) -> Value:
    value = trace.operand(operation.inputs[0])
    at = _softmax_axes(trace, operation, value)
    over = flat(trace.axes(value)[position] for position in at)
    if not over:
        raise Unsupported("over an axis of extent 1")
    return softmax(trace, value, over)


def _log_softmax(trace: Trace, operation: Operation) -> Value:
    value = trace.operand(operation.inputs[0])
    at = _softmax_axes(trace, operation, value)
    shifted = zipped(trace, "sub", value, reduced(trace, "max", value, at, True, part="top"), part="shifted")
    total = reduced(trace, "sum", trace.map("exp", shifted, part="exponentials"), at, True, part="total")
    return zipped(trace, "sub", shifted, trace.map("log", total, part="log"))


OPS: Mapping[str, Callable[[Trace, Operation], Value]] = {
    "ArgMax": _argmax,
    "ArgMin": _argmax,
    "GlobalAveragePool": partial(_global, "mean"),
    "GlobalMaxPool": partial(_global, "max"),
    "LogSoftmax": _log_softmax,
    "ReduceL2": partial(_reduce, "norm"),
    "ReduceMax": partial(_reduce, "max"),
    "ReduceMean": partial(_reduce, "mean"),
    "ReduceMin": partial(_reduce, "min"),
    "ReduceSum": partial(_reduce, "sum"),
    "ReduceSumSquare": partial(_reduce, "square_sum"),
    "Softmax": _softmax,
}
