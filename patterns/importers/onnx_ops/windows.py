"""Convolution and pooling: a pad and a window along each dim of a picture, then a product or a reduction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf

from patterns.importers.onnx_ops.elementwise import finite, zipped
from patterns.importers.onnx_ops.norms import by_channel
from patterns.importers.onnx_ops.reductions import reduced
from patterns.importers.onnx_ops.shapes import reshaped
from patterns.importers.onnx_trace.contract import contract
from patterns.importers.onnx_trace.known import Arguments, Axes, Unsupported, Value, Wrong, shortest
from patterns.importers.onnx_trace.model import Constant, Operation
from patterns.importers.onnx_trace.trace import Trace

# Names of the dims of a picture, the last ones of so many.
_SPACE = ("depth", "height", "width")
_HINT = 20
# Longer dims, windows and pads are mistakes.
_MOST = 2**20


@dataclass(frozen=True)
class Frame:
    """How windows lie along one dim: `extent` elements with `between` others between each two, padded by `before` and
    `after`; windows of `size` elements."""

    extent: int
    size: int
    stride: int
    dilation: int
    before: int
    after: int
    between: int = 0

    @property
    def padded(self) -> int:
        """Elements of the padded dim."""
        return self.before + (self.extent - 1) * (self.between + 1) + 1 + self.after

    @property
    def reach(self) -> int:
        """From the first element of a window to its last."""
        return self.dilation * (self.size - 1) + 1

    @property
    def windows(self) -> int:
        """Windows that fit."""
        return (self.padded - self.reach) // self.stride + 1


def frames(operation: Operation, extents: Sequence[int], sizes: Sequence[int], rounded_up: bool) -> list[Frame]:
    """How an operation's windows lie along every dim. Raises Wrong, Unsupported."""
    rank = len(extents)
    strides = tuple(operation.attribute("strides", (1,) * rank))
    dilations = tuple(operation.attribute("dilations", (1,) * rank))
    pads = tuple(operation.attribute("pads", (0,) * 2 * rank))
    automatic = operation.attribute("auto_pad", "NOTSET")
    if not len(sizes) == len(strides) == len(dilations) == rank or len(pads) != 2 * rank:
        raise Wrong(f"strides {list(strides)}, dilations {list(dilations)}, pads {list(pads)} of {rank} dims")
    if min((*strides, *dilations, *sizes), default=1) < 1 or min(pads, default=0) < 0:
        raise Wrong(f"strides {list(strides)}, dilations {list(dilations)}, pads {list(pads)}")
    made = []
    for at in range(rank):
        frame = Frame(extents[at], sizes[at], strides[at], dilations[at], pads[at], pads[at + rank])
        if automatic in ("SAME_UPPER", "SAME_LOWER"):
            frame = _same(frame, automatic == "SAME_LOWER")
        elif automatic == "VALID":
            frame = Frame(frame.extent, frame.size, frame.stride, frame.dilation, 0, 0)
        frame = _rounded_up(frame) if rounded_up else frame
        if max(frame.windows, frame.before, frame.after, frame.reach) > _MOST:
            raise Unsupported(f"windows of more than {_MOST:,} elements")
        if frame.windows < 1:
            raise Wrong(f"a window of {frame.reach} is larger than {frame.extent + frame.before + frame.after}")
        made.append(frame)
    return made


def _same(frame: Frame, lower: bool) -> Frame:
    """Padded so that there is a window for every stride-th element."""
    windows = -(-frame.extent // frame.stride)
    total = max(0, (windows - 1) * frame.stride + frame.reach - frame.extent)
    before = total - total // 2 if lower else total // 2
    return Frame(frame.extent, frame.size, frame.stride, frame.dilation, before, total - before)


def _rounded_up(frame: Frame) -> Frame:
    """Padded after, so that a last window that begins inside is whole."""
    room = frame.extent + frame.before + frame.after - frame.reach
    windows = -(-room // frame.stride) + 1
    if (windows - 1) * frame.stride >= frame.extent + frame.before:
        windows -= 1
    more = max(0, (windows - 1) * frame.stride - room)
    return Frame(frame.extent, frame.size, frame.stride, frame.dilation, frame.before, frame.after + more)


def windowed(trace: Trace, value: Value, made: Sequence[Frame], lowest: bool) -> Value:
    """A picture [.., spatial dims] as [.., windows of each dim, elements of each dim]."""
    first = len(value.axes) - len(made)
    for number, frame in enumerate(made):
        at = first + number
        hint = _SPACE[number - len(made)] if len(made) <= len(_SPACE) else "space"
        value = _padded(trace, value, at, frame, lowest, hint)
        value = _windows(trace, value, at, frame, hint)
    return value


def _padded(trace: Trace, value: Value, at: int, frame: Frame, lowest: bool, hint: str) -> Value:
    own = trace.axes(value)[at]
    for atom in own[:1] if len(own) == 1 else ():
        trace.atoms.suggest(atom, hint, _HINT)
    if frame.padded == frame.extent:
        return value
    value, atom = trace.one_atom(value, at)
    to = trace.atoms.new(frame.padded, f"padded_{hint}", _HINT)
    trace.atoms.keep_whole(to)
    axes = trace.axes(value)
    axes = (*axes[:at], (to,), *axes[at + 1 :])
    arguments: Arguments = {
        "before": frame.before,
        "after": frame.after,
        "between": frame.between,
        "to": (to,),
    }
    arguments = {key: count for key, count in arguments.items() if count}
    if lowest:
        arguments = {**arguments, "value": "lowest"}
    return trace.emit("buffer", "pad", [value], axes, along=atom, arguments=arguments, new=(to,), part=f"padded_{hint}")


def _windows(trace: Trace, value: Value, at: int, frame: Frame, hint: str) -> Value:
    """The value with windows along an axis, and their elements as its last axis."""
    if frame.size == 1 and frame.stride == 1:
        return Value((*value.axes, ()), value.tensor)
    value, atom = trace.one_atom(value, at)
    out, inside = trace.atoms.new(frame.windows, hint, _HINT), trace.atoms.new(frame.size, f"window_{hint}", _HINT)
    for new in (out, inside):
        trace.atoms.keep_whole(new)
    axes = trace.axes(value)
    axes = (*axes[:at], (out,), *axes[at + 1 :])
    arguments: Arguments = {"to": (out, inside)}
    for name, step in (("stride", frame.stride), ("dilation", frame.dilation)):
        arguments = {**arguments, name: step} if step > 1 else arguments
    return trace.emit(
        "buffer",
        "window",
        [value],
        (*axes, (inside,)),
        along=atom,
        arguments=arguments,
        new=(out, inside),
        part=f"windows_{hint}",
    )


def _conv(trace: Trace, operation: Operation) -> Value:
    value, kernel = (trace.operand(name) for name in operation.inputs[:2])
    shape, sizes = trace.shape(value), trace.shape(kernel)
    groups = int(operation.attribute("group", 1))
    if len(shape) != len(sizes) or len(shape) < 3 or groups < 1:
        raise Wrong(f"a convolution of {list(shape)} with {list(sizes)}")
    if shape[1] != sizes[1] * groups or sizes[0] % groups:
        raise Wrong(f"{shape[1]} channels in {groups} groups meet a kernel of {list(sizes)}")
    given = tuple(operation.attribute("kernel_shape", sizes[2:]))
    if given != sizes[2:]:
        raise Wrong(f"kernel_shape is {list(given)}, and the kernel is {list(sizes)}")
    lie = frames(operation, shape[2:], sizes[2:], False)
    bias = operation.inputs[2] if len(operation.inputs) > 2 else ""
    windows = windowed(trace, in_groups(trace, value, 1, groups), lie, False)
    kernel = in_groups(trace, kernel, 0, groups)
    space = [f"space {n}" for n in range(len(lie))]
    inside = [f"inside {n}" for n in range(len(lie))]
    made = contract(
        trace,
        windows,
        ["batch", "group", "in", *space, *inside],
        kernel,
        ["group", "out", "in", *inside],
        ["batch", "group", "out", *space],
        "product" if bias else "",
    )
    channels = Value((made.axes[0], (*made.axes[1], *made.axes[2]), *made.axes[3:]), made.tensor)
    for atom in trace.axes(channels)[1]:
        trace.atoms.suggest(atom, "channels", _HINT)
    return zipped(trace, "add", channels, by_channel(trace, bias, len(shape))) if bias else channels


def in_groups(trace: Trace, value: Value, at: int, groups: int) -> Value:
    """The value with its axis as two, groups and what each has."""
    shape = trace.shape(value)
    return reshaped(trace, value, (*shape[:at], groups, shape[at] // groups, *shape[at + 1 :]))


def _pool(fn: str, trace: Trace, operation: Operation) -> Value:
    value = trace.operand(operation.inputs[0])
    shape = trace.shape(value)
    sizes = tuple(operation.attribute("kernel_shape", ()))
    if len(sizes) != len(shape) - 2 or not sizes:
        raise Wrong(f"kernel_shape {list(sizes)} of a value of rank {len(shape)}")
    if len(operation.outputs) > 1:
        raise Unsupported("the indices of the greatest")
    lie = frames(operation, shape[2:], sizes, bool(operation.attribute("ceil_mode", 0)))
    padded = any(frame.before or frame.after for frame in lie)
    windows = windowed(trace, value, lie, fn == "max")
    at = tuple(range(len(shape), len(windows.axes)))
    if fn == "max":
        return reduced(trace, "max", windows, at, False)
    if not padded:
        return reduced(trace, "mean", windows, at, False)
    return _uneven_mean(trace, operation, reduced(trace, "sum", windows, at, False, part="sum"), lie)


def _uneven_mean(trace: Trace, operation: Operation, total: Value, lie: Sequence[Frame]) -> Value:
    """The sums over the numbers of elements that count: those of the padding do not, unless it is asked for."""
    import numpy

    counted = bool(operation.attribute("count_include_pad", 0))
    pads = tuple(operation.attribute("pads", (0,) * 2 * len(lie)))
    parts: Axes = ()
    for number, frame in enumerate(lie):
        if frame.windows * frame.size > _MOST:
            raise Unsupported(f"windows of more than {_MOST:,} elements in all")
        starts = numpy.arange(frame.windows)[:, None] * frame.stride + numpy.arange(frame.size) * frame.dilation
        last = frame.before + frame.extent + (min(pads[number + len(lie)], frame.after) if counted else 0)
        first = 0 if counted else frame.before
        parts = (*parts, tuple(int(n) for n in ((starts >= first) & (starts < last)).sum(1)))
    table = numpy.ones((), "float32")
    for counts in parts:
        if not all(counts):
            raise Unsupported("a window that is all padding")
        table = numpy.multiply.outer(table, 1 / numpy.array(counts, "float32"))
    shape = tuple(len(counts) for counts in parts)
    factor = Constant(shape, trace.dtype(total), lambda: table, f"{operation.outputs[0]}/share")
    return zipped(trace, "mul", total, trace.weight(factor, factor.name))


def _lrn(trace: Trace, operation: Operation) -> Value:
    """Each element over a power of the squares of its neighbours' channels."""
    value = trace.operand(operation.inputs[0])
    size = int(operation.attribute("size", 0))
    if size < 1 or len(value.axes) < 2:
        raise Wrong(f"size is {size}, of a value of rank {len(value.axes)}")
    alpha, beta = shortest(operation.attribute("alpha", 1e-4)), shortest(operation.attribute("beta", 0.75))
    squares = trace.map("square", value, part="squares")
    channels = trace.shape(value)[1]
    turned = Value((squares.axes[0], *squares.axes[2:], squares.axes[1]), squares.tensor)
    frame = Frame(channels, size, 1, 1, (size - 1) // 2, size - 1 - (size - 1) // 2)
    windows = windowed(trace, turned, [frame], False)
    total = reduced(trace, "sum", windows, (len(windows.axes) - 1,), False, part="sum")
    total = Value((total.axes[0], total.axes[-1], *total.axes[1:-1]), total.tensor)
    base = trace.map("scale", total, part="scaled", by=alpha / size)
    base = trace.map("shift", base, part="base", by=shortest(operation.attribute("bias", 1.0)))
    return zipped(trace, "mul", value, trace.map("power", base, part="factor", by=-beta))


def _pad(trace: Trace, operation: Operation) -> Value:
    value = trace.operand(operation.inputs[0])
    if operation.attribute("mode", "constant") != "constant":
        raise Unsupported(f"mode {operation.attribute('mode', '')}")
    if len(operation.inputs) > 3 and operation.inputs[3]:
        raise Unsupported("axes")
    pads = operation.attributes.get("pads") or trace.ints(operation.inputs[1], "pads")
    fill = operation.attribute("value", 0.0)
    if len(operation.inputs) > 2 and operation.inputs[2]:
        found = trace.scalar(operation.inputs[2])
        if found is None:
            raise Unsupported("a value that is no constant")
        fill = found
    rank = len(value.axes)
    if len(pads) != 2 * rank or min(pads, default=0) < 0:
        raise Unsupported(f"pads {list(pads)}")
    for at in range(rank):
        before, after = pads[at], pads[at + rank]
        if not before + after:
            continue
        value, atom = trace.one_atom(value, at)
        to = trace.atoms.new(trace.shape(value)[at] + before + after)
        trace.atoms.keep_whole(to)
        axes = trace.axes(value)
        axes = (*axes[:at], (to,), *axes[at + 1 :])
        made: float | str = "lowest" if fill == -inf else finite(fill)
        arguments: Arguments = {"before": before, "after": after, "value": made, "to": (to,)}
        arguments = {key: given for key, given in arguments.items() if given}
        value = trace.emit(
            "buffer", "pad", [value], axes, along=atom, arguments=arguments, new=(to,), part=f"axis_{at}"
        )
    return value


OPS: Mapping[str, Callable[[Trace, Operation], Value]] = {
    "AveragePool": partial(_pool, "mean"),
    "Conv": _conv,
    "LRN": _lrn,
    "MaxPool": partial(_pool, "max"),
    "Pad": _pad,
}
