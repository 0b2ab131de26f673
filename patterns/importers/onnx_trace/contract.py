"""A product of two values whose axes have labels: what both have meets, what the result lacks is summed."""

from __future__ import annotations

from collections.abc import Sequence

from patterns.importers.onnx_trace.atoms import Axis
from patterns.importers.onnx_trace.broadcast import meet
from patterns.importers.onnx_trace.known import Axes, Value, Wrong, flat
from patterns.importers.onnx_trace.trace import Trace

Labels = Sequence[str]


def contract(
    trace: Trace, left: Value, left_labels: Labels, right: Value, right_labels: Labels, result: Labels, part: str = ""
) -> Value:
    """The values multiplied, and summed over the labels that the result lacks.

    An axis of extent 1 meets any other, unless it is summed. Raises Wrong for extents that differ.
    """
    sides = [(left, list(left_labels)), (right, list(right_labels))]
    sides = [_summed_alone(trace, value, own, {*other, *result}, part) for (value, own), (_, other) in _pairs(sides)]
    (left, left_labels), (right, right_labels) = sides
    shared = [label for label in left_labels if label in right_labels]
    settled: dict[str, Axis] = {}
    for label in shared:
        left, right, settled[label] = _met(trace, left, left_labels, right, right_labels, label, settled)
    left = _apart(trace, left, left_labels, settled)
    right = _apart(trace, right, right_labels, settled)
    axes = tuple(trace.atoms.resolved(settled[label]) for label in result)
    over = trace.atoms.resolved(flat(settled[label] for label in shared if label not in result))
    return _product(trace, left, right, axes, over, part)


def _pairs(sides: list[tuple[Value, list[str]]]) -> list[tuple[tuple[Value, list[str]], tuple[Value, list[str]]]]:
    return [(sides[0], sides[1]), (sides[1], sides[0])]


def _summed_alone(trace: Trace, value: Value, labels: list[str], used: set[str], part: str) -> tuple[Value, list[str]]:
    """The value without the axes that only it has and the result lacks."""
    alone = [at for at, label in enumerate(labels) if label not in used]
    if not alone:
        return value, labels
    all_axes = trace.axes(value)
    gone = flat(all_axes[at] for at in alone)
    over = tuple(atom for atom in gone if atom in trace.held(value))
    axes = tuple(axis for at, axis in enumerate(all_axes) if at not in alone)
    left = [label for at, label in enumerate(labels) if at not in alone]
    return (trace.emit("reduce", "sum", [value], axes, over=over, part=f"{part}sum"), left) if over else (value, left)


def _met(
    trace: Trace,
    left: Value,
    left_labels: Labels,
    right: Value,
    right_labels: Labels,
    label: str,
    settled: dict[str, Axis],
) -> tuple[Value, Value, Axis]:
    """Both values with the same atoms at a label."""
    at, other = left_labels.index(label), right_labels.index(label)
    extents = trace.shape(left)[at], trace.shape(right)[other]
    if extents[0] != extents[1] and 1 not in extents:
        raise Wrong(f"{list(trace.shape(left))} x {list(trace.shape(right))}: {extents[0]} and {extents[1]} meet")
    if extents[0] == 1 < extents[1]:
        left = trace.without(left, trace.axes(left)[at])
    if extents[1] == 1 < extents[0]:
        right = trace.without(right, trace.axes(right)[other])
    taken = flat(settled.values())
    axis: Axis | None = None
    if trace.axes(left)[at]:
        left, axis = meet(trace, left, at, None, taken)
    if trace.axes(right)[other]:
        right, axis = meet(trace, right, other, axis, taken)
    return left, right, axis or ()


def _apart(trace: Trace, value: Value, labels: Labels, settled: dict[str, Axis]) -> Value:
    """The value, its own axes free of what was settled; settles them."""
    for at, label in enumerate(labels):
        if label not in settled:
            value, settled[label] = meet(trace, value, at, None, flat(settled.values()))
    return value


def _product(trace: Trace, left: Value, right: Value, axes: Axes, over: Axis, part: str) -> Value:
    """An mm over the atoms that both tensors have; a zip if they have none."""
    both = set(trace.held(left)) & set(trace.held(right))
    spread = trace.atoms.size(a for a in over if a not in trace.held(left) and a not in trace.held(right))
    left, right = (_without_others(trace, value, over, both, part) for value in (left, right))
    inside = tuple(atom for atom in over if atom in both)
    final = part if spread == 1 else f"{part}once"
    dtype = trace.dtype(left)
    if inside:
        made = trace.emit("mm", "", [left, right], axes, over=inside, dtype=dtype, part=final)
    else:
        made = trace.emit("zip", "mul", [left, right], axes, dtype=dtype, part=final)
    return made if spread == 1 else trace.map("scale", made, part=part, by=float(spread))


def _without_others(trace: Trace, value: Value, over: Axis, both: set[int], part: str) -> Value:
    """The value summed over the atoms that the other tensor does not have."""
    alone = tuple(atom for atom in over if atom in trace.held(value) and atom not in both)
    if not alone:
        return value
    axes = tuple(tuple(atom for atom in axis if atom not in alone) for axis in trace.axes(value))
    return trace.emit("reduce", "sum", [value], axes, over=alone, part=f"{part}sum")
