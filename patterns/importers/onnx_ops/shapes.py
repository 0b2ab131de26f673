"""Operations that only say what is where: most become other names of dims, and no node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from patterns.importers.onnx_ops.reductions import asked_axes, positions
from patterns.importers.onnx_trace.atoms import Axis
from patterns.importers.onnx_trace.known import Axes, Value, Wrong, flat
from patterns.importers.onnx_trace.model import Operation
from patterns.importers.onnx_trace.trace import Trace


def _transpose(trace: Trace, operation: Operation) -> Value:
    value = trace.operand(operation.inputs[0])
    rank = len(value.axes)
    order = positions(tuple(operation.attribute("perm", tuple(range(rank))[::-1])), rank)
    if len(order) != rank:
        raise Wrong(f"perm {list(order)} of a value of rank {rank}")
    return Value(tuple(value.axes[at] for at in order), value.tensor)


def _squeeze(trace: Trace, operation: Operation) -> Value:
    value = trace.operand(operation.inputs[0])
    shape, asked = trace.shape(value), asked_axes(trace, operation)
    ones = tuple(at for at, extent in enumerate(shape) if extent == 1)
    at = positions(asked, len(shape)) if asked is not None else ones
    if not set(at) <= set(ones):
        raise Wrong(f"axes {list(at)} of {list(shape)} are not all of extent 1")
    value = trace.without(value, flat(trace.axes(value)[n] for n in at))
    return Value(tuple(axis for n, axis in enumerate(value.axes) if n not in at), value.tensor)


def _unsqueeze(trace: Trace, operation: Operation) -> Value:
    value = trace.operand(operation.inputs[0])
    asked = asked_axes(trace, operation) or ()
    rank = len(value.axes) + len(asked)
    at, rest = positions(asked, rank), iter(value.axes)
    return Value(tuple(() if n in at else next(rest) for n in range(rank)), value.tensor)


def _flatten(trace: Trace, operation: Operation) -> Value:
    value = trace.operand(operation.inputs[0])
    axes, rank = trace.axes(value), len(value.axes)
    at = int(operation.attribute("axis", 1))
    if not -rank <= at <= rank:
        raise Wrong(f"axis {at} of a value of rank {rank}")
    at = at + rank if at < 0 else at
    return Value((flat(axes[:at]), flat(axes[at:])), value.tensor)


def _reshape(trace: Trace, operation: Operation) -> Value:
    value = trace.operand(operation.inputs[0])
    asked = operation.attributes.get("shape")
    if asked is None:
        asked = trace.ints("".join(operation.inputs[1:2]), "the new shape")
    return reshaped(trace, value, _target(trace, value, tuple(asked), bool(operation.attribute("allowzero", 0))))


def _target(trace: Trace, value: Value, asked: tuple[int, ...], zeros: bool) -> tuple[int, ...]:
    """The shape that is asked for, in numbers."""
    shape, total = trace.shape(value), prod(trace.shape(value))
    if any(extent == 0 and (zeros or at >= len(shape)) for at, extent in enumerate(asked)):
        raise Wrong(f"{list(shape)} cannot become {list(asked)}")
    target = [shape[at] if extent == 0 else extent for at, extent in enumerate(asked)]
    known = prod(extent for extent in target if extent != -1)
    if _is_batch(trace, value) and target[:1] == [1] and -1 not in target and known * shape[0] == total:
        # The model fixes a batch of 1, and another was asked for.
        target[0] = shape[0]
        known = total
    if target.count(-1) == 1 and known and total % known == 0:
        target[target.index(-1)] = total // known
    if min(target, default=1) < 1 or prod(target) != total:
        raise Wrong(f"{list(shape)} cannot become {list(asked)}")
    return tuple(target)


def _is_batch(trace: Trace, value: Value) -> bool:
    batch = trace.batch
    return batch is not None and bool(value.axes) and trace.axes(value)[0] == trace.atoms.resolved((batch,))


def reshaped(trace: Trace, value: Value, target: Sequence[int]) -> Value:
    """The elements in another shape: atoms are put together, or divided; they move only if neither will do."""
    made: list[Axis] = []
    left = list(flat(trace.axes(value)))
    for extent in target:
        axis: Axis = ()
        while (due := extent // trace.atoms.size(axis)) > 1 or (extent == 1 and not axis and _unit(trace, left)):
            atom = left.pop(0)
            size = trace.atoms.size((atom,))
            if size > due:
                parts = trace.atoms.divide(atom, due) if size % due == 0 else None
                if parts is None:
                    return reshaped(trace, _moved(trace, value, atom, left, due), target)
                # The same atom may be elsewhere too.
                made = [trace.atoms.resolved(axis) for axis in made]
                left = list(trace.atoms.resolved(left))
                axis, left = (*trace.atoms.resolved(axis), parts[0]), [parts[1], *left]
            elif due % size:
                return reshaped(trace, _moved(trace, value, atom, left, due), target)
            else:
                axis = (*axis, atom)
        made.append(axis)
    if left and made:
        made[-1] = (*made[-1], *left)
    elif left:
        value = trace.without(value, left)
    return Value(tuple(made), value.tensor)


def _unit(trace: Trace, left: Sequence[int]) -> bool:
    return bool(left) and trace.atoms.size(left[:1]) == 1


def _moved(trace: Trace, value: Value, atom: int, left: Sequence[int], due: int) -> Value:
    """The value with an atom that stays whole divided by a node, or with atoms that do not divide evenly merged."""
    atoms = trace.atoms.resolved(flat(trace.axes(value)))
    at, size = atoms.index(atom), trace.atoms.size((atom,))
    single = Value(tuple((a,) for a in atoms), value.tensor)
    if size % due == 0:
        return trace.divided(single, at, (trace.atoms.new(due), trace.atoms.new(size // due)))
    if not left:
        raise Wrong("extents that do not divide each other")
    pair: Axes = (*((a,) for a in atoms[:at]), atoms[at : at + 2], *((a,) for a in atoms[at + 2 :]))
    merged, _ = trace.one_atom(Value(pair, value.tensor), at)
    return merged


def _expand(trace: Trace, operation: Operation) -> Value:
    value = trace.operand(operation.inputs[0])
    return expanded(trace, value, trace.ints(operation.inputs[1], "the new shape"))


def expanded(trace: Trace, value: Value, target: Sequence[int]) -> Value:
    """The value broadcast to a shape: atoms that its tensor does not have."""
    shape = trace.shape(value)
    rank = max(len(shape), len(target))
    axes: list[Axis] = []
    value = Value((*[()] * (rank - len(shape)), *trace.axes(value)), value.tensor)
    wide = (*[1] * (rank - len(target)), *target)
    for at, extent in enumerate(wide):
        own = trace.shape(value)[at]
        if (own != extent and 1 not in (own, extent)) or extent < 1:
            raise Wrong(f"{list(shape)} does not broadcast to {list(target)}")
        if own == 1 < extent:
            value = trace.without(value, trace.axes(value)[at])
            axes.append((trace.atoms.new(extent),))
        else:
            axes.append(trace.axes(value)[at])
    trace.atoms.set_apart(flat(axes))
    return Value(tuple(axes), value.tensor)


def _tile(trace: Trace, operation: Operation) -> Value:
    value = trace.operand(operation.inputs[0])
    repeats = trace.ints(operation.inputs[1], "repeats")
    if len(repeats) != len(value.axes) or min(repeats, default=1) < 1:
        raise Wrong(f"repeats {list(repeats)} of a value of rank {len(value.axes)}")
    axes = tuple(
        (*((trace.atoms.new(count),) if count > 1 else ()), *axis)
        for count, axis in zip(repeats, trace.axes(value), strict=True)
    )
    trace.atoms.set_apart(flat(axes))
    return Value(axes, value.tensor)


def _space(trace: Trace, operation: Operation) -> Value:
    """SpaceToDepth and DepthToSpace: a reshape, a transpose and a reshape."""
    value = trace.operand(operation.inputs[0])
    block = int(operation.attribute("blocksize", 0))
    if len(value.axes) != 4 or block < 1:
        raise Wrong(f"blocks of {block} of a value of rank {len(value.axes)}")
    n, c, h, w = trace.shape(value)
    if c % (block * block) if operation.op == "DepthToSpace" else h % block or w % block:
        raise Wrong(f"{[n, c, h, w]} has no blocks of {block}")
    if operation.op == "SpaceToDepth":
        parts = reshaped(trace, value, (n, c, h // block, block, w // block, block))
        order, shape = (0, 3, 5, 1, 2, 4), (n, c * block * block, h // block, w // block)
    else:
        outer = c // (block * block)
        if operation.attribute("mode", "DCR") == "CRD":
            parts, order = reshaped(trace, value, (n, outer, block, block, h, w)), (0, 1, 4, 2, 5, 3)
        else:
            parts, order = reshaped(trace, value, (n, block, block, outer, h, w)), (0, 3, 4, 1, 5, 2)
        shape = (n, outer, h * block, w * block)
    return reshaped(trace, Value(tuple(parts.axes[at] for at in order), parts.tensor), shape)


OPS: Mapping[str, Callable[[Trace, Operation], Value]] = {
    "DepthToSpace": _space,
    "Expand": _expand,
    "Flatten": _flatten,
    "Reshape": _reshape,
    "SpaceToDepth": _space,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
