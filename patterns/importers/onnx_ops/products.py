"""Products of matrices: dims that meet are the same, and what both have and the result lacks is summed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from patterns.importers.onnx_ops.elementwise import zipped
from patterns.importers.onnx_trace.contract import contract
from patterns.importers.onnx_trace.known import Unsupported, Value, Wrong
from patterns.importers.onnx_trace.model import Operation
from patterns.importers.onnx_trace.trace import Trace

if TYPE_CHECKING:
    from patterns.importers.onnx_trace.contract import Labels

_EQUATION = re.compile(r"[A-Za-z.]*(,[A-Za-z.]*)*(->[A-Za-z.]*)?")


def _matmul(trace: Trace, operation: Operation) -> Value:
    left, right = (trace.operand(name) for name in operation.inputs[:2])
    return matmul(trace, left, right)


def matmul(trace: Trace, left: Value, right: Value, part: str = "") -> Value:
    """The product over the last axis of the left and the last but one of the right; those before broadcast."""
    shapes = trace.shape(left), trace.shape(right)
    if not left.axes or not right.axes:
        raise Wrong("a product of matrices with a scalar")
    inner = shapes[1][-2] if len(right.axes) > 1 else shapes[1][-1]
    if shapes[0][-1] != inner:
        raise Wrong(f"{list(shapes[0])} x {list(shapes[1])}: {shapes[0][-1]} columns meet {inner} rows")
    outer = max(len(left.axes), len(right.axes)) - 2
    batch = [f"batch {n}" for n in range(outer, 0, -1)]
    left_labels = _last(batch, len(left.axes) - 2) + (["row", "inner"] if len(left.axes) > 1 else ["inner"])
    right_labels = _last(batch, len(right.axes) - 2) + (["inner", "column"] if len(right.axes) > 1 else ["inner"])
    own = [label for label in ("row", "column") if label in (*left_labels, *right_labels)]
    return contract(trace, left, left_labels, right, right_labels, [*batch, *own], part)


def _last(labels: list[str], count: int) -> list[str]:
    return labels[len(labels) - count :] if count > 0 else []


def _gemm(trace: Trace, operation: Operation) -> Value:
    left, right = (trace.operand(name) for name in operation.inputs[:2])
    if len(left.axes) != 2 or len(right.axes) != 2:
        raise Wrong(f"{list(trace.shape(left))} x {list(trace.shape(right))} are no two matrices")
    left = _turned(left) if operation.attribute("transA", 0) else left
    right = _turned(right) if operation.attribute("transB", 0) else right
    alpha, beta = float(operation.attribute("alpha", 1.0)), float(operation.attribute("beta", 1.0))
    bias = operation.inputs[2] if len(operation.inputs) > 2 and beta else ""
    rest = "" if not bias else "product"
    made = matmul(trace, left, right, rest if alpha == 1 else "plain")
    made = made if alpha == 1 else trace.map("scale", made, part=rest, by=alpha)
    if not bias:
        return made
    added = trace.operand(bias)
    added = added if beta == 1 else trace.map("scale", added, part="bias", by=beta)
    return zipped(trace, "add", made, added)


def _turned(value: Value) -> Value:
    return Value(value.axes[::-1], value.tensor)


def _einsum(trace: Trace, operation: Operation) -> Value:
    equation = str(operation.attribute("equation", "")).replace(" ", "")
    if not _EQUATION.fullmatch(equation) or "." in equation:
        raise Unsupported(f"the equation {equation[:60]!r}")
    given, arrow, result = equation.partition("->")
    terms = given.split(",")
    if not arrow:
        result = "".join(sorted(letter for letter in set(given) - {","} if given.count(letter) == 1))
    values = [trace.operand(name) for name in operation.inputs]
    if len(terms) != len(values) or any(len(t) != len(v.axes) for t, v in zip(terms, values, strict=False)):
        raise Wrong(f"{equation!r} is not of these operands")
    letters = set("".join(terms))
    if not set(result) <= letters:
        raise Wrong(f"{equation!r} gives what it does not read")
    if len(terms) != 2 or any(len(set(term)) != len(term) for term in (*terms, result)):
        raise Unsupported(f"the equation {equation[:60]!r}")
    labels: list[Labels] = [list(term) for term in terms]
    return contract(trace, values[0], labels[0], values[1], labels[1], list(result))


OPS: Mapping[str, Callable[[Trace, Operation], Value]] = {"Einsum": _einsum, "Gemm": _gemm, "MatMul": _matmul}
