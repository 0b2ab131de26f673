"""Pictures that become larger: elements repeated, and transposed convolutions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from patterns.importers.onnx_ops.elementwise import zipped
from patterns.importers.onnx_ops.norms import by_channel
from patterns.importers.onnx_ops.windows import Frame, in_groups, windowed
from patterns.importers.onnx_trace.contract import contract
from patterns.importers.onnx_trace.known import Unsupported, Value, Wrong, flat
from patterns.importers.onnx_trace.model import Constant, Operation
from patterns.importers.onnx_trace.trace import Trace

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _resize(trace: Trace, operation: Operation) -> Value:
    value = trace.operand(operation.inputs[0])
    mode = operation.attribute("mode", "nearest")
    if mode != "nearest":
        raise Unsupported(f"mode {mode}")
    shape = trace.shape(value)
    scales = _scales(trace, operation, shape)
    place = operation.attribute("coordinate_transformation_mode", "half_pixel")
    rounding = operation.attribute("nearest_mode", "round_prefer_floor")
    simple = operation.op == "Upsample" or (rounding == "floor" and place == "asymmetric")
    centred = place in ("half_pixel", "half_pixel_symmetric") and rounding == "round_prefer_floor"
    doubled = place == "asymmetric" and rounding == "round_prefer_floor" and max(scales) <= 2
    if not (simple or centred or doubled):
        raise Unsupported(f"places {place}, rounded {rounding}")
    axes = tuple(
        (*axis, trace.atoms.new(scale)) if scale > 1 else axis
        for axis, scale in zip(trace.axes(value), scales, strict=True)
    )
    trace.atoms.set_apart(flat(axes))
    return Value(axes, value.tensor)


def _scales(trace: Trace, operation: Operation, shape: Sequence[int]) -> tuple[int, ...]:
    """How often each element is repeated along every axis. Raises Unsupported unless these are whole numbers."""
    if "scales" in operation.attributes:
        found = [float(scale) for scale in operation.attributes["scales"]]
    else:
        names = (*operation.inputs[1:], "", "", "")
        at = 0 if operation.op == "Upsample" or trace.opset < 11 else 1
        if names[at] and trace.array(names[at], "scales").size:
            found = [float(scale) for scale in trace.array(names[at], "scales").reshape(-1)]
        else:
            sizes = trace.ints(names[at + 1], "the new size")
            found = [size / extent for size, extent in zip(sizes, shape, strict=False)]
    if len(found) != len(shape):
        raise Wrong(f"{len(found)} scales of a value of rank {len(shape)}")
    if any(scale != int(scale) or scale < 1 for scale in found):
        raise Unsupported(f"scales {found}")
    return tuple(int(scale) for scale in found)


def _transposed(trace: Trace, operation: Operation) -> Value:
    """A convolution of the elements set apart, with the kernel turned round."""
    value, kernel = trace.operand(operation.inputs[0]), trace.constant(operation.inputs[1])
    if kernel is None or "output_shape" in operation.attributes:
        raise Unsupported("a kernel that is no constant, or an output_shape")
    if operation.attribute("auto_pad", "NOTSET") != "NOTSET":
        raise Unsupported("auto_pad")
    shape, groups = trace.shape(value), int(operation.attribute("group", 1))
    if (
        len(shape) != len(kernel.shape)
        or len(shape) < 3
        or shape[1] != kernel.shape[0]
        or groups < 1
        or shape[1] % groups
    ):
        raise Wrong(f"a convolution of {list(shape)} with {list(kernel.shape)} in {groups} groups")
    name = f"{operation.inputs[1]}/turned"
    turned = trace.weight(Constant(kernel.shape, kernel.dtype, partial(_turned, kernel), name), name)
    rank = len(shape) - 2
    windows = windowed(
        trace, in_groups(trace, value, 1, groups), _frames(operation, shape[2:], kernel.shape[2:]), False
    )
    space, inside = [f"space {n}" for n in range(rank)], [f"inside {n}" for n in range(rank)]
    bias = operation.inputs[2] if len(operation.inputs) > 2 else ""
    made = contract(
        trace,
        windows,
        ["batch", "group", "in", *space, *inside],
        in_groups(trace, turned, 0, groups),
        ["group", "in", "out", *inside],
        ["batch", "group", "out", *space],
        "product" if bias else "",
    )
    channels = Value((made.axes[0], (*made.axes[1], *made.axes[2]), *made.axes[3:]), made.tensor)
    return zipped(trace, "add", channels, by_channel(trace, bias, len(shape))) if bias else channels


def _turned(kernel: Constant) -> NDArray[Any]:
    import numpy

    array = kernel.load()
    return numpy.flip(array, tuple(range(2, array.ndim)))


def _frames(operation: Operation, extents: Sequence[int], sizes: Sequence[int]) -> list[Frame]:
    rank = len(extents)
    strides = tuple(operation.attribute("strides", (1,) * rank))
    dilations = tuple(operation.attribute("dilations", (1,) * rank))
    pads = tuple(operation.attribute("pads", (0,) * 2 * rank))
    more = tuple(operation.attribute("output_padding", (0,) * rank))
    if not len(strides) == len(dilations) == len(more) == rank or len(pads) != 2 * rank:
        raise Wrong(f"strides {list(strides)}, dilations {list(dilations)}, pads {list(pads)} of {rank} dims")
    if min((*strides, *dilations), default=1) < 1:
        raise Wrong(f"strides {list(strides)}, dilations {list(dilations)}")
    made = []
    for at in range(rank):
        reach = dilations[at] * (sizes[at] - 1)
        before, after = reach - pads[at], reach - pads[at + rank] + more[at]
        if before < 0 or after < 0:
            raise Unsupported("more padding than the kernel reaches")
        made.append(Frame(extents[at], sizes[at], 1, dilations[at], before, after, strides[at] - 1))
    return made


OPS: Mapping[str, Callable[[Trace, Operation], Value]] = {
    "ConvTranspose": _transposed,
    "Resize": _resize,
    "Upsample": _resize,
}
