"""Normalisations that are one operation, taken apart as patterns have them; and those with fixed statistics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from patterns.importers.onnx_ops.elementwise import zipped
from patterns.importers.onnx_ops.reductions import positions, reduced
from patterns.importers.onnx_trace.known import Unsupported, Value, Wrong, shortest
from patterns.importers.onnx_trace.model import Constant, Operation
from patterns.importers.onnx_trace.trace import Trace


def _scaled(trace: Trace, operation: Operation, normal: Value, gain_at: int = 1) -> Value:
    """Times the gain, plus the bias if there is one."""
    gain = operation.inputs[gain_at] if len(operation.inputs) > gain_at else ""
    bias = operation.inputs[gain_at + 1] if len(operation.inputs) > gain_at + 1 else ""
    if gain:
        normal = zipped(trace, "mul", normal, trace.operand(gain), part="scaled" if bias else "")
    return zipped(trace, "add", normal, trace.operand(bias)) if bias else normal


def _factor(trace: Trace, value: Value, at: tuple[int, ...], eps: float) -> Value:
    squares = trace.map("square", value, part="squares")
    mean = reduced(trace, "mean", squares, at, True, part="variance")
    return trace.map("rsqrt", mean, part="factor", eps=eps)


def _layer(trace: Trace, operation: Operation) -> Value:
    value = trace.operand(operation.inputs[0])
    (first,) = positions((int(operation.attribute("axis", -1)),), len(value.axes))
    at = tuple(range(first, len(value.axes)))
    centred = zipped(trace, "sub", value, reduced(trace, "mean", value, at, True, part="mean"), part="centred")
    factor = _factor(trace, centred, at, shortest(operation.attribute("epsilon", 1e-5)))
    return _scaled(trace, operation, zipped(trace, "mul", centred, factor, part="normal"))


def _rms(trace: Trace, operation: Operation) -> Value:
    value = trace.operand(operation.inputs[0])
    (first,) = positions((int(operation.attribute("axis", -1)),), len(value.axes))
    factor = _factor(trace, value, tuple(range(first, len(value.axes))), shortest(operation.attribute("epsilon", 1e-5)))
    return _scaled(trace, operation, zipped(trace, "mul", value, factor, part="normal"))


def _instance(trace: Trace, operation: Operation) -> Value:
    value = trace.operand(operation.inputs[0])
    at = tuple(range(2, len(value.axes)))
    centred = zipped(trace, "sub", value, reduced(trace, "mean", value, at, True, part="mean"), part="centred")
    factor = _factor(trace, centred, at, shortest(operation.attribute("epsilon", 1e-5)))
    normal = zipped(trace, "mul", centred, factor, part="normal")
    gain, bias = (by_channel(trace, name, len(value.axes)) for name in operation.inputs[1:3])
    return zipped(trace, "add", zipped(trace, "mul", normal, gain, part="scaled"), bias)


def by_channel(trace: Trace, name: str, rank: int) -> Value:
    """A value of one axis, to broadcast along axis 1 of one of `rank` axes."""
    value = trace.operand(name)
    if len(value.axes) != 1:
        raise Wrong(f"{name} has rank {len(value.axes)}; one number for each channel is due")
    return Value((*value.axes, *[()] * (rank - 2)), value.tensor)


def _batch(trace: Trace, operation: Operation) -> Value:
    """With its statistics fixed it is a factor and a shift for each channel, computed beforehand."""
    import numpy

    value = trace.operand(operation.inputs[0])
    if operation.attribute("training_mode", 0):
        raise Unsupported("training mode")
    given = [trace.constant(name) for name in operation.inputs[1:5]]
    if len(given) < 4 or any(constant is None for constant in given):
        raise Unsupported("statistics that are no constants")
    gain, bias, mean, variance = (constant for constant in given if constant is not None)
    eps = shortest(operation.attribute("epsilon", 1e-5))
    channels = trace.shape(value)[1:2]
    if any(constant.shape != channels for constant in (gain, bias, mean, variance)):
        raise Wrong(f"of {list(channels)} channels, and the statistics are of {list(gain.shape)}")

    def factor() -> Any:
        spread: Any = variance.load()
        with numpy.errstate(all="ignore"):
            return gain.load() / (spread + eps) ** 0.5

    def shift() -> Any:
        centre: Any = mean.load()
        return bias.load() - centre * factor()

    factors = Constant(gain.shape, gain.dtype, factor, f"{operation.inputs[1]}/factor")
    shifts = Constant(gain.shape, gain.dtype, shift, f"{operation.inputs[2]}/shift")
    names = []
    for constant in (factors, shifts):
        trace.constants[constant.name] = constant
        names.append(by_channel(trace, constant.name, len(value.axes)))
    return zipped(trace, "add", zipped(trace, "mul", value, names[0], part="scaled"), names[1])


OPS: Mapping[str, Callable[[Trace, Operation], Value]] = {
    "BatchNormalization": _batch,
    "InstanceNormalization": _instance,
    "LayerNormalization": _layer,
    "RMSNormalization": _rms,
    "SimplifiedLayerNormalization": _rms,
}
