"""Operations that look rows up through an index."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from patterns.dtypes import is_integer
from patterns.errors import UserError
from patterns.importers.onnx_ops.parts import taken
from patterns.importers.onnx_ops.reductions import positions
from patterns.importers.onnx_trace.broadcast import meet
from patterns.importers.onnx_trace.known import Unsupported, Value, Wrong, flat
from patterns.importers.onnx_trace.model import Constant, Operation
from patterns.importers.onnx_trace.trace import Trace


def _gather(trace: Trace, operation: Operation) -> Value:
    table = trace.operand(operation.inputs[0])
    (at,) = positions((int(operation.attribute("axis", 0)),), len(table.axes))
    known = trace.constant(operation.inputs[1])
    if known is not None and not known.shape:
        # One row: a part of extent 1, whose axis goes.
        extent = trace.shape(table)[at]
        number = int(_from_first(known, extent).load())
        if not 0 <= number < extent:
            raise Wrong(f"row {number} of {extent}")
        row = taken(trace, table, at, number, 1, "row")
        row = trace.without(row, trace.axes(row)[at], part="")
        return Value((*row.axes[:at], *row.axes[at + 1 :]), row.tensor)
    return _looked_up(trace, table, _index(trace, operation.inputs[1], trace.shape(table)[at]), at)


def _index(trace: Trace, name: str, extent: int) -> Value:
    """An index into so many rows. Those of a constant are counted from the first row."""
    known = trace.constant(name)
    if known is None or not is_integer(known.dtype) or not _has_negative(known):
        return trace.operand(name)
    return trace.weight(_from_first(known, extent), f"{name}/from_first")


def _has_negative(index: Constant) -> bool:
    try:
        array: Any = index.load()
        return bool((array < 0).any())
    except UserError:
        # In a file that is not there. Shapes are all that a graph needs.
        return False


def _from_first(index: Constant, extent: int) -> Constant:
    """An index whose negative numbers count from the last row, as one in which all count from the first."""
    import numpy

    def counted() -> Any:
        array: Any = index.load()
        return numpy.where(array < 0, array + extent, array)

    return replace(index, load=counted, stored=False)


def _looked_up(trace: Trace, table: Value, index: Value, at: int) -> Value:
    """The rows of a table, along one of its axes."""
    if not is_integer(trace.dtype(index)):
        raise Unsupported("an index that is no whole number")
    table, along = trace.one_atom(table, at)
    for position in range(len(index.axes)):
        # What the index shares with the table would be looked up for each by itself.
        index, _ = meet(trace, index, position, None, flat(trace.axes(table)))
    axes = trace.axes(table)
    axes = (*axes[:at], *trace.axes(index), *axes[at + 1 :])
    if trace.made[table.tensor].role == "weight":
        trace.atoms.suggest(along, "vocabulary", 60)
    return trace.emit("gather", "", [table, index], axes, along=along)


def _gather_points(trace: Trace, operation: Operation) -> Value:
    """GatherND of an index into the first axis alone."""
    table = trace.operand(operation.inputs[0])
    index = _index(trace, operation.inputs[1], trace.shape(table)[0] if table.axes else 0)
    if operation.attribute("batch_dims", 0) or not index.axes or trace.shape(index)[-1] != 1 or not table.axes:
        raise Unsupported("an index of several axes")
    index = trace.without(index, trace.axes(index)[-1])
    return _looked_up(trace, table, Value(index.axes[:-1], index.tensor), 0)


def _gather_elements(trace: Trace, operation: Operation) -> Value:
    table = trace.operand(operation.inputs[0])
    (at,) = positions((int(operation.attribute("axis", 0)),), len(table.axes))
    index = _index(trace, operation.inputs[1], trace.shape(table)[at])
    table, along = trace.one_atom(table, at)
    for position in range(len(index.axes)):
        if position != at:
            if trace.shape(index)[position] != trace.shape(table)[position]:
                raise Unsupported("an index that leaves rows out")
            others = flat(a for n, a in enumerate(trace.axes(table)) if n != position)
            if trace.axes(table)[position]:
                index, _ = meet(trace, index, position, trace.axes(table)[position], others)
    index, _ = meet(trace, index, at, None, flat(trace.axes(table)))
    return trace.emit("gather", "", [table, index], trace.axes(index), along=along)


OPS: Mapping[str, Callable[[Trace, Operation], Value]] = {
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_points,
}
