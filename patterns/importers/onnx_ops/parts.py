"""Operations that take a part along an axis, or put parts together."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from patterns.importers.onnx_ops.reductions import positions
from patterns.importers.onnx_trace.broadcast import meet
from patterns.importers.onnx_trace.known import Arguments, Unsupported, Value, Wrong, flat
from patterns.importers.onnx_trace.model import Operation, split_sizes
from patterns.importers.onnx_trace.symbols import CONTEXT, PAST
from patterns.importers.onnx_trace.trace import Trace

Handler = Callable[[Trace, Operation], "Value | tuple[Value, ...]"]


def taken(trace: Trace, value: Value, at: int, start: int, extent: int, part: str = "") -> Value:
    """`extent` elements along an axis, from `start`."""
    whole = trace.shape(value)[at]
    if extent == whole:
        return value
    axes = trace.axes(value)
    if not set(axes[at]) & set(trace.held(value)):
        # Broadcast along all of it: any part is the same.
        new = (trace.atoms.new(extent),) if extent > 1 else ()
        return Value((*axes[:at], new, *axes[at + 1 :]), value.tensor)
    if len(axes[at]) > 1 and (outer := axes[at][0]) in trace.held(value):
        inner = whole // trace.atoms.size((outer,))
        if start % inner == 0 and extent == inner:
            # One of the outermost atom: all of those inside it.
            return _one_of(trace, value, at, outer, start // inner, part)
    value, atom = trace.one_atom(value, at)
    axes = trace.axes(value)
    to = trace.atoms.new(extent)
    trace.atoms.keep_whole(to)
    arguments: Arguments = {"start": start, "to": (to,)}
    axes = (*axes[:at], (to,), *axes[at + 1 :])
    return trace.emit("buffer", "slice", [value], axes, along=atom, arguments=arguments, new=(to,), part=part)


def _one_of(trace: Trace, value: Value, at: int, atom: int, start: int, part: str) -> Value:
    trace.atoms.keep_whole(atom)
    unit = trace.atoms.new(1)
    trace.atoms.keep_whole(unit)
    axes = tuple(tuple(unit if a == atom else a for a in axis) for axis in trace.axes(value))
    arguments: Arguments = {"start": start, "to": (unit,)}
    made = trace.emit("buffer", "slice", [value], axes, along=atom, arguments=arguments, new=(unit,), part=f"{part}one")
    return trace.without(made, (unit,), part=part)


def joined(trace: Trace, values: list[Value], at: int, part: str = "") -> Value:
    """Values side by side along an axis; their other axes meet."""
    shapes = [trace.shape(value) for value in values]
    rest = {(*shape[:at], *shape[at + 1 :]) for shape in shapes}
    if len({len(shape) for shape in shapes}) != 1 or len(rest) != 1:
        raise Wrong(f"{' and '.join(str(list(shape)) for shape in shapes)} are not alike beside axis {at}")
    if len(values) == 1:
        return values[0]
    along: list[int] = []
    for number, value in enumerate(values):
        values[number], atom = _own_dim(trace, value, at, along)
        along.append(atom)
    for position in range(len(shapes[0])):
        if position != at:
            values = _alike(trace, values, position, at)
    longer = any(trace.atoms.hint(atom)[1] == PAST for atom in along)
    to = trace.atoms.new(sum(shape[at] for shape in shapes), *((CONTEXT, 60) if longer else ()))
    trace.atoms.keep_whole(to)
    axes = trace.axes(values[0])
    axes = (*axes[:at], (to,), *axes[at + 1 :])
    return trace.emit("buffer", "concat", values, axes, arguments={"to": (to,)}, new=(to,), part=part)


def _own_dim(trace: Trace, value: Value, at: int, others: list[int]) -> tuple[Value, int]:
    """The value with one atom at the axis that no other value has there."""
    value, atom = trace.one_atom(value, at)
    if atom in {trace.atoms.root(other) for other in others}:
        fresh = trace.like((atom,))
        value, atom = trace.renamed(value, (atom,), fresh), fresh[0]
    trace.atoms.set_apart((atom, *others))
    return value, trace.atoms.root(atom)


def _alike(trace: Trace, values: list[Value], position: int, at: int) -> list[Value]:
    """The values with the same atoms at one axis, which their tensors all have."""
    first = trace.axes(values[0])[position]
    made = []
    for value in values:
        taken_here = flat(axis for n, axis in enumerate(trace.axes(values[0])) if n not in (position, at))
        if not first and trace.axes(value)[position]:
            value = trace.without(value, trace.axes(value)[position])
        elif first:
            value = trace.solid(value, trace.axes(value)[position])
            if not trace.axes(value)[position]:
                value, _ = trace.one_atom(value, position)
            value, first = meet(trace, value, position, first, taken_here)
        made.append(value)
    return made


def _concat(trace: Trace, operation: Operation) -> Value:
    values = [trace.operand(name) for name in operation.inputs]
    (at,) = positions((int(operation.attribute("axis", 1)),), len(values[0].axes))
    return joined(trace, values, at)


def _split(trace: Trace, operation: Operation) -> tuple[Value, ...]:
    value = trace.operand(operation.inputs[0])
    (at,) = positions((int(operation.attribute("axis", 0)),), len(value.axes))
    whole, count = trace.shape(value)[at], len(operation.outputs)
    sizes = operation.attributes.get("split")
    if sizes is None and len(operation.inputs) > 1:
        sizes = trace.ints(operation.inputs[1], "the sizes of the parts")
    if sizes is None:
        sizes = split_sizes(whole, operation)
    if sum(sizes) != whole or min(sizes) < 1 or len(sizes) != count:
        raise Wrong(f"parts of {list(sizes)} of an extent of {whole}")
    starts = [sum(sizes[:n]) for n in range(count)]
    return tuple(
        taken(trace, value, at, start, size, f"{n + 1}")
        for n, (start, size) in enumerate(zip(starts, sizes, strict=True))
    )


def _slice(trace: Trace, operation: Operation) -> Value:
    value = trace.operand(operation.inputs[0])
    starts, ends, at, steps = _ranges(trace, operation, len(value.axes))
    cuts = []
    for start, end, axis, step in zip(starts, ends, at, steps, strict=True):
        whole = trace.shape(value)[axis]
        if step != 1:
            raise Unsupported("a step other than 1")
        first, last, _ = slice(start, end).indices(whole)
        if last <= first:
            raise Unsupported("an empty slice")
        cuts.append((axis, first, last - first, whole))
    cuts = [cut for cut in cuts if cut[2] != cut[3]]
    for number, (axis, first, extent, _) in enumerate(cuts):
        value = taken(trace, value, axis, first, extent, "" if number == len(cuts) - 1 else f"axis_{axis}")
    return value


def _ranges(trace: Trace, operation: Operation, rank: int) -> tuple[tuple[int, ...], ...]:
    """starts, ends, axes, steps: attributes before version 10, inputs since."""
    names = ("starts", "ends", "axes", "steps")
    if "starts" in operation.attributes:
        given = [operation.attributes.get(name) for name in names]
    else:
        inputs = (*operation.inputs[1:], "", "", "", "")
        given = [trace.ints(name, what) if name else None for name, what in zip(inputs, names, strict=False)]
    starts, ends = given[0], given[1]
    if starts is None or ends is None:
        raise Wrong("a slice without starts or ends")
    axes = given[2] if given[2] is not None else tuple(range(len(starts)))
    steps = given[3] if given[3] is not None else (1,) * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise Wrong("starts, ends, axes and steps are not alike")
    return tuple(starts), tuple(ends), positions(tuple(axes), rank), tuple(steps)


OPS: Mapping[str, Handler] = {"Concat": _concat, "Slice": _slice, "Split": _split}
