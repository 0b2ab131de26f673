"""Axes that meet by position become the same atoms, as numpy broadcasts them."""

from __future__ import annotations

from collections.abc import Sequence

from patterns.importers.onnx_trace.atoms import Axis
from patterns.importers.onnx_trace.known import Axes, Value, Wrong, flat
from patterns.importers.onnx_trace.trace import Trace


def broadcast(trace: Trace, values: Sequence[Value], taken: Axis = ()) -> tuple[list[Value], Axes]:
    """The values with the same atoms where their axes meet, and the axes of the result.

    taken: atoms that the result has besides. An axis whose atoms cannot be those of the others, because they are in
    the result already, gets another name. Raises Wrong for extents that do not broadcast.
    """
    values = list(values)
    rank = max(len(value.axes) for value in values)
    result: list[Axis] = []
    for position in range(-rank, 0):
        met = [at for at, value in enumerate(values) if len(value.axes) >= -position]
        extent = max(trace.shape(values[at])[position] for at in met)
        axis: Axis | None = None
        for at in met:
            own = trace.axes(values[at])[position]
            if not own:
                continue
            if trace.atoms.size(own) == 1 and extent > 1:
                values[at] = trace.without(values[at], own)
                continue
            if trace.atoms.size(own) != extent:
                shapes = " and ".join(str(list(trace.shape(value))) for value in values)
                raise Wrong(f"{shapes} do not broadcast")
            values[at], axis = meet(trace, values[at], position, axis, (*taken, *flat(result)))
        result.append(axis or ())
    return values, tuple(trace.atoms.resolved(axis) for axis in result)


def meet(trace: Trace, value: Value, position: int, target: Axis | None, taken: Axis) -> tuple[Value, Axis]:
    """The value whose axis has the atoms of `target` (None: its own, if they are free), and these atoms."""
    own = trace.axes(value)[position]
    used = set(trace.atoms.resolved(taken))
    if target is None:
        if not used & set(own):
            return value, own
        fresh = trace.like(own)
        return trace.renamed(value, own, fresh), fresh
    if trace.atoms.resolved(target) == own:
        return value, own
    if not trace.atoms.align(own, target):
        value = trace.divided(value, position, target)
    own, target = trace.axes(value)[position], trace.atoms.resolved(target)
    for mine, theirs in zip(own, target, strict=True):
        mine, theirs = trace.atoms.root(mine), trace.atoms.root(theirs)
        used = set(trace.atoms.resolved(taken))
        if mine == theirs:
            continue
        if mine in used or not trace.atoms.unite(theirs, mine):
            if theirs in flat(trace.axes(value)):
                value = trace.renamed(value, (theirs,), trace.like((theirs,)))
            value = trace.renamed(value, (mine,), (theirs,))
    return value, trace.atoms.resolved(target)
