"""Operations on every element by itself, and on several values that broadcast."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import isinf

from patterns.dtypes import is_integer
from patterns.importers.onnx_trace.broadcast import broadcast
from patterns.importers.onnx_trace.known import Unsupported, Value, shortest
from patterns.importers.onnx_trace.model import Operation
from patterns.importers.onnx_trace.read_model import DTYPES
from patterns.importers.onnx_trace.trace import Trace

Handler = Callable[[Trace, Operation], Value]
# What stands for infinity in a graph, whose numbers are finite: the greatest of fp32.
GREATEST = 3.4028234663852886e38


def finite(number: float) -> float:
    """The number, or the greatest of its sign."""
    return (GREATEST if number > 0 else -GREATEST) if isinf(number) else number


def mapped(fn: str, **arguments: float) -> Handler:
    """An operation that is one function."""

    def handler(trace: Trace, operation: Operation) -> Value:
        return trace.map(fn, trace.operand(operation.inputs[0]), "", "", **arguments)

    return handler


def with_attribute(fn: str, attribute: str, default: float, argument: str = "by") -> Handler:
    """An operation that is one function with one number."""

    def handler(trace: Trace, operation: Operation) -> Value:
        number = shortest(operation.attribute(attribute, default))
        return trace.map(fn, trace.operand(operation.inputs[0]), "", "", **{argument: number})

    return handler


def sides(trace: Trace, operation: Operation) -> tuple[Value, Value]:
    """Two values that broadcast. Before version 7 the second one's axes may begin at an axis of the first."""
    left, right = (trace.operand(name) for name in operation.inputs[:2])
    prelu = operation.op == "PRelu" and len(right.axes) == 1 and trace.opset < 7
    at = 1 if prelu else operation.attributes.get("axis") if trace.opset < 7 else None
    if at is None:
        return left, right
    room = len(left.axes) - len(right.axes) - (int(at) % max(1, len(left.axes)))
    return left, Value((*right.axes, *[()] * max(0, room)), right.tensor)


def zipped(trace: Trace, fn: str, left: Value, right: Value, part: str = "", dtype: str = "") -> Value:
    """A function of two values that broadcast."""
    values, axes = broadcast(trace, [left, right])
    if not dtype:
        dtype = max(map(trace.dtype, values), key=lambda name: (not is_integer(name), name == "fp32"))
    return trace.emit("zip", fn, values, axes, dtype=dtype, part=part)


def _commuting(fn: str, with_number: str, trace: Trace, operation: Operation) -> Value:
    """A function of two whose sides may change places: of one, where the other is a number."""
    left, right = operation.inputs
    for value, other in ((left, right), (right, left)):
        by = trace.scalar(other)
        if by is not None and trace.constant(value) is None:
            return trace.map(with_number, trace.operand(value), by=finite(by))
    return zipped(trace, fn, *sides(trace, operation))


def _sub(trace: Trace, operation: Operation) -> Value:
    left, right = operation.inputs
    if (by := trace.scalar(right)) is not None:
        return trace.map("shift", trace.operand(left), by=finite(-by))
    if (by := trace.scalar(left)) is not None:
        negative = trace.map("neg", trace.operand(right), part="negative")
        return trace.map("shift", negative, by=finite(by))
    return zipped(trace, "sub", *sides(trace, operation))


def _div(trace: Trace, operation: Operation) -> Value:
    left, right = operation.inputs
    if is_integer(trace.dtype(trace.operand(left))):
        raise Unsupported("division of whole numbers")
    dividend, by = trace.scalar(left), trace.scalar(right)
    if by:
        return trace.map("scale", trace.operand(left), by=1 / by)
    if dividend is not None:
        inverse = trace.map("reciprocal", trace.operand(right), part="inverse")
        return inverse if dividend == 1 else trace.map("scale", inverse, by=finite(dividend))
    return zipped(trace, "div", *sides(trace, operation))


_POWERS: Mapping[float, str] = {2: "square", 0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal", 1: "copy"}


def _pow(trace: Trace, operation: Operation) -> Value:
    value, by = trace.operand(operation.inputs[0]), trace.scalar(operation.inputs[1])
    if by is None:
        raise Unsupported("an exponent that is no single constant")
    if by == 3:
        square = trace.map("square", value, part="square")
        return zipped(trace, "mul", square, value)
    return trace.map(_POWERS[by], value) if by in _POWERS else trace.map("power", value, by=by)


def _several(fn: str, trace: Trace, operation: Operation) -> Value:
    """A function of two, applied to all in turn."""
    result = trace.operand(operation.inputs[0])
    for number, name in enumerate(operation.inputs[1:]):
        last = number == len(operation.inputs) - 2
        result = zipped(trace, fn, result, trace.operand(name), part="" if last else f"part_{number + 1}")
    return result


def _compared(fn: str, trace: Trace, operation: Operation) -> Value:
    return zipped(trace, fn, *sides(trace, operation), dtype="int8")


def _greater(fn: str, trace: Trace, operation: Operation) -> Value:
    left, right = sides(trace, operation)
    return zipped(trace, fn, right, left, dtype="int8")


def _where(trace: Trace, operation: Operation) -> Value:
    values, axes = broadcast(trace, [trace.operand(name) for name in operation.inputs[:3]])
    return trace.emit("zip", "where", values, axes, dtype=trace.dtype(values[1]))


def _cast(trace: Trace, operation: Operation) -> Value:
    from onnx import TensorProto

    value = trace.operand(operation.inputs[0])
    number = int(operation.attribute("to", 0))
    name = TensorProto.DataType.Name(number) if number in TensorProto.DataType.values() else str(number)
    if name not in DTYPES:
        raise Unsupported(f"a cast to {name}")
    dtype = DTYPES[name]
    if name == "BOOL":
        return trace.map("nonzero", value, dtype="int8")
    if dtype == trace.dtype(value):
        return value
    return trace.emit("map", "cast", [value], value.axes, dtype=dtype, arguments={"dtype": dtype})


def _clip(trace: Trace, operation: Operation) -> Value:
    value = trace.operand(operation.inputs[0])
    bounds = []
    for at, name in ((1, "min"), (2, "max")):
        given = operation.inputs[at] if len(operation.inputs) > at else ""
        bound = trace.scalar(given) if given else operation.attributes.get(name)
        if given and bound is None:
            raise Unsupported(f"a {name} that is no constant")
        bounds.append(bound)
    low, high = (None if bound is None or abs(bound) >= GREATEST else float(bound) for bound in bounds)
    if low == 0:
        value = trace.map("relu", value, part="" if high is None else "low")
    elif low is not None:
        value = trace.map("at_least", value, part="" if high is None else "low", by=low)
    return value if high is None else trace.map("at_most", value, by=high)


def _same(trace: Trace, operation: Operation) -> Value:
    return trace.operand(operation.inputs[0])


def _gelu(trace: Trace, operation: Operation) -> Value:
    tanh = operation.attribute("approximate", "none") == "tanh"
    return trace.map("gelu" if tanh else "gelu_erf", trace.operand(operation.inputs[0]))


def _hard_sigmoid(trace: Trace, operation: Operation) -> Value:
    alpha, beta = operation.attribute("alpha", 0.2), operation.attribute("beta", 0.5)
    return _hard(trace, trace.operand(operation.inputs[0]), alpha, beta, "")


def _hard(trace: Trace, value: Value, alpha: float, beta: float, part: str) -> Value:
    line = trace.map("shift", trace.map("scale", value, part="slope", by=alpha), part="line", by=beta)
    return trace.map("at_most", trace.map("relu", line, part="low"), part=part, by=1.0)


def _hard_swish(trace: Trace, operation: Operation) -> Value:
    value = trace.operand(operation.inputs[0])
    return zipped(trace, "mul", value, _hard(trace, value, 1 / 6, 0.5, "gate"))


def _swish(trace: Trace, operation: Operation) -> Value:
    if operation.attribute("alpha", 1.0) != 1.0:
        raise Unsupported("alpha other than 1")
    return trace.map("silu", trace.operand(operation.inputs[0]))


def _prelu(trace: Trace, operation: Operation) -> Value:
    value, slope = sides(trace, operation)
    high = trace.map("relu", value, part="high")
    low = trace.map("at_most", value, part="low", by=0.0)
    return zipped(trace, "add", high, zipped(trace, "mul", low, slope, part="slope"))


_MAPS: Mapping[str, str] = {
    "Abs": "abs", "Ceil": "ceil", "Cos": "cos", "Erf": "erf", "Exp": "exp", "Floor": "floor", "IsNaN": "is_nan",
    "Log": "log", "Neg": "neg", "Not": "not", "Reciprocal": "reciprocal", "Relu": "relu", "Round": "round",
    "Sigmoid": "sigmoid", "Sign": "sign", "Sin": "sin", "Softplus": "softplus", "Sqrt": "sqrt", "Tanh": "tanh",
}  # fmt: skip
OPS: Mapping[str, Handler] = {
    **{op: mapped(fn) for op, fn in _MAPS.items()},
    "Add": partial(_commuting, "add", "shift"),
    "And": partial(_compared, "mul"),
    "Cast": _cast,
    "Clip": _clip,
    "Div": _div,
    "Dropout": _same,
    "Elu": with_attribute("elu", "alpha", 1.0),
    "Equal": partial(_compared, "equal"),
    "Gelu": _gelu,
    "Greater": partial(_greater, "less"),
    "GreaterOrEqual": partial(_compared, "not_less"),
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _hard_swish,
    "Identity": _same,
    "LeakyRelu": with_attribute("leaky_relu", "alpha", 0.01),
    "Less": partial(_compared, "less"),
    "LessOrEqual": partial(_greater, "not_less"),
    "Max": partial(_several, "max"),
    "Min": partial(_several, "min"),
    "Mul": partial(_commuting, "mul", "scale"),
    "Or": partial(_compared, "max"),
    "PRelu": _prelu,
    "Pow": _pow,
    "Sub": _sub,
    "Sum": partial(_several, "add"),
    "Swish": _swish,
    "Where": _where,
}
