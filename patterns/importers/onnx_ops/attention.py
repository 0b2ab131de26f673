"""Attention as one operation, taken apart as patterns have it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from patterns.dtypes import is_integer
from patterns.importers.onnx_ops.elementwise import zipped
from patterns.importers.onnx_ops.parts import joined
from patterns.importers.onnx_ops.products import matmul
from patterns.importers.onnx_ops.reductions import softmax
from patterns.importers.onnx_ops.shapes import reshaped
from patterns.importers.onnx_trace.known import Unsupported, Value, Wrong, shortest
from patterns.importers.onnx_trace.model import Constant, Operation
from patterns.importers.onnx_trace.trace import Trace

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _attention(trace: Trace, operation: Operation) -> tuple[Value, ...]:
    """softmax(q k / sqrt(d) + mask) v, for heads that may share keys and values."""
    names = (*operation.inputs, "", "", "", "", "", "")
    if operation.attribute("softcap", 0.0) or len(operation.outputs) > 3 or names[6]:
        raise Unsupported("softcap, lengths of caches that are padded, or scores that are given back")
    flat = len(trace.operand(names[0]).axes) == 3
    heads = tuple(operation.attribute(name, 0) for name in ("q_num_heads", "kv_num_heads", "kv_num_heads"))
    q, k, v = (_by_heads(trace, trace.operand(name), count) for name, count in zip(names[:3], heads, strict=True))
    if len({len(value.axes) for value in (q, k, v)}) != 1 or trace.shape(q)[:1] != trace.shape(k)[:1]:
        raise Wrong("queries, keys and values are not alike")
    past = 0
    if names[4]:
        past = trace.shape(trace.operand(names[4]))[2]
        k = joined(trace, [trace.operand(names[4]), k], 2, "keys")
        v = joined(trace, [trace.operand(names[5]), v], 2, "values")
    batch, query_heads, rows, width = trace.shape(q)
    kv_heads, columns = trace.shape(k)[1:3]
    if query_heads % kv_heads:
        raise Wrong(f"{kv_heads} heads of keys do not divide {query_heads} of queries")
    grouped = reshaped(trace, q, (batch, kv_heads, query_heads // kv_heads, rows, width))
    turned = Value((*k.axes[:2], (), k.axes[3], k.axes[2]), k.tensor)
    scores = matmul(trace, grouped, turned, "scores")
    by = operation.attribute("scale", 0.0)
    scores = trace.map("scale", scores, part="scaled", by=shortest(by) if by else width**-0.5)
    scores = reshaped(trace, scores, (batch, query_heads, rows, columns))
    if names[3]:
        scores = _masked(trace, scores, trace.operand(names[3]))
    if operation.attribute("is_causal", 0):
        mask = Constant((rows, columns), "fp32", partial(_causal, rows, columns, past), f"{names[0]}/mask")
        scores = zipped(trace, "add", scores, trace.weight(mask, mask.name), "causal")
    shares = softmax(trace, scores, trace.axes(scores)[-1], "shares")
    shares = reshaped(trace, shares, (batch, kv_heads, query_heads // kv_heads, rows, columns))
    made = matmul(trace, shares, Value((*v.axes[:2], (), *v.axes[2:]), v.tensor))
    made = reshaped(trace, made, (batch, query_heads, rows, trace.shape(v)[3]))
    if flat:
        made = Value((made.axes[0], made.axes[2], (*made.axes[1], *made.axes[3])), made.tensor)
    return made, k, v


def _by_heads(trace: Trace, value: Value, heads: int) -> Value:
    """[batch, heads, rows, width], which may be given as [batch, rows, heads * width]."""
    shape = trace.shape(value)
    if len(shape) == 4:
        return value
    if len(shape) != 3 or heads < 1 or shape[2] % heads:
        raise Wrong(f"{list(shape)} has no {heads} heads")
    split = reshaped(trace, value, (*shape[:2], heads, shape[2] // heads))
    return Value((split.axes[0], split.axes[2], split.axes[1], split.axes[3]), split.tensor)


def _masked(trace: Trace, scores: Value, mask: Value) -> Value:
    if is_integer(trace.dtype(mask)):
        raise Unsupported("a mask of truth values")
    return zipped(trace, "add", scores, mask, "masked")


def _causal(rows: int, columns: int, past: int) -> NDArray[Any]:
    import numpy

    seen = numpy.arange(columns)[None, :] <= numpy.arange(rows)[:, None] + past
    return numpy.where(seen, numpy.float32(0), numpy.float32("-inf"))


OPS: Mapping[str, Callable[[Trace, Operation], tuple[Value, ...]]] = {"Attention": _attention}
