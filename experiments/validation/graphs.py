"""Graphs that measurements are of, built once and resized."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, lru_cache

from patterns.counting.needed import function_of
from patterns.dtypes import dtype_bits
from patterns.graph import Graph
from patterns.library import workload
from patterns.read import parse_graph

# Dynamic quantisation of a whole tensor: its greatest absolute value (by rows, then of all), then scale and convert.
QUANTIZED_GEMM = """
name: quantized_gemm
extents: {m: 1, n: 1, k: 1}
tensors:
  a: {dims: [m, k], dtype: bf16, role: input}
  b: {dims: [k, n], dtype: fp8, role: weight}
  c: {dims: [m, n], dtype: bf16, role: output}
nodes:
  sizes:     {kind: map, fn: abs, reads: [a]}
  of_rows:   {kind: reduce, fn: max, reads: [sizes], over: [k]}
  largest:   {kind: reduce, fn: max, reads: [of_rows], over: [m]}
  inverse:   {kind: map, fn: reciprocal, reads: [largest]}
  scaled:    {kind: zip, fn: mul, reads: [a, inverse]}
  quantized: {kind: map, fn: cast, reads: [scaled], dtype: fp8}
  c:         {kind: mm, reads: [quantized, b]}
"""
ALL_REDUCE = """
name: all_reduce
extents: {elements: 1, members: 2}
tensors:
  partial: {dims: [elements], dtype: bf16, role: input}
  total:   {dims: [elements], dtype: bf16, role: output}
nodes:
  total: {kind: all_reduce, reads: [partial], along: members}
"""
# A step that reads and writes one vector, again and again.
SCALINGS = """
name: scalings
extents: {elements: 1, repeats: 1}
tensors:
  vector: {dims: [elements], dtype: fp32, role: input}
blocks:
  repeated:
    count: repeats
    carried: {vector: scaled}
    nodes:
      scaled: {kind: map, fn: scale, reads: [vector], by: 1.5}
"""
ROW_KERNELS = {
    "add": """
name: add
extents: {rows: 1, hidden: 1}
tensors:
  x: {dims: [rows, hidden], dtype: bf16, role: input}
  y: {dims: [rows, hidden], dtype: bf16, role: input}
  z: {dims: [rows, hidden], dtype: bf16, role: output}
nodes:
  z: {kind: zip, fn: add, reads: [x, y]}
""",
    "silu_mul": """
name: silu_mul
extents: {rows: 1, hidden: 1}
tensors:
  gate: {dims: [rows, hidden], dtype: bf16, role: input}
  up:   {dims: [rows, hidden], dtype: bf16, role: input}
  z:    {dims: [rows, hidden], dtype: bf16, role: output}
nodes:
  activated: {kind: map, fn: silu, reads: [gate]}
  z:         {kind: zip, fn: mul,  reads: [activated, up]}
""",
}


def gemm(m: int, n: int, k: int, dtype: str) -> Graph:
    """One matrix product. fp8: its input is quantised first, its result is bf16."""
    base = quantized_gemm() if dtype == "fp8" else of_dtype(workload_once("gemm"), dtype)
    return resized(base, {"m": m, "n": n, "k": k})


def product(m: int, n: int, k: int, dtype: str) -> Graph:
    """One matrix product alone. fp8: its operands are, its result is bf16."""
    base = fp8_product() if dtype == "fp8" else of_dtype(workload_once("gemm"), dtype)
    return resized(base, {"m": m, "n": n, "k": k})


def attention(batch: int, seq: int, context: int, heads: int, kv_heads: int, head_dim: int) -> Graph:
    """Causal attention of the last `seq` of `context` tokens."""
    sizes = {"batch": batch, "seq": seq, "context": context, "kv_heads": kv_heads, "head_dim": head_dim}
    return resized(workload_once("attention"), {**sizes, "group": heads // kv_heads})


def all_reduce(elements: int, members: int) -> Graph:
    """The sum of bf16 elements over members."""
    return resized(all_reduce_once(), {"elements": elements, "members": members})


def unmasked(graph: Graph) -> Graph:
    """Attention without its causal mask: the scores go past it."""
    mask = next(node for _, node in graph.nodes() if (made := function_of(node)) and made.keeps)
    (block,) = graph.blocks
    kept = (node for node in block.nodes if node is not mask)
    nodes = tuple(
        replace(node, reads=tuple(mask.reads[0] if name == mask.writes else name for name in node.reads))
        for node in kept
    )
    dropped = {mask.writes, *mask.reads[1:]}
    tensors = tuple(tensor for tensor in graph.tensors if tensor.name not in dropped)
    return replace(graph, tensors=tensors, blocks=(replace(block, nodes=nodes),))


def scalings(elements: int, repeats: int) -> Graph:
    """A vector that `repeats` kernels scale one after another. Counts of blocks are read with the extents."""
    return parse_graph(SCALINGS, overrides={"elements": str(elements), "repeats": str(repeats)})


@cache
def row_kernel(op: str) -> Graph:
    """A kernel on rows: `add` and `silu_mul`, or a ready-made graph."""
    return parse_graph(ROW_KERNELS[op]) if op in ROW_KERNELS else workload_once(op)


@cache
def fp8_product() -> Graph:
    """A product of fp8 operands with a bf16 result."""
    graph = workload_once("gemm")
    operands = ("a", "b")
    return replace(graph, tensors=tuple(replace(t, dtype="fp8") if t.name in operands else t for t in graph.tensors))


@cache
def workload_once(name: str) -> Graph:
    """A ready-made graph in its own sizes."""
    return workload(name)


@cache
def quantized_gemm() -> Graph:
    """A GEMM in fp8 behind the kernel that quantises its input."""
    return parse_graph(QUANTIZED_GEMM)


@cache
def all_reduce_once() -> Graph:
    """An all_reduce of no size yet."""
    return parse_graph(ALL_REDUCE)


def resized(graph: Graph, sizes: Mapping[str, int]) -> Graph:
    """The graph in other sizes. None of its extents may follow from others."""
    return replace(graph, extents=tuple((name, sizes.get(name, size)) for name, size in graph.extents))


@lru_cache(maxsize=64)
def of_dtype(graph: Graph, dtype: str) -> Graph:
    """The graph with all its tensors of one type."""
    return replace(graph, tensors=tuple(replace(tensor, dtype=dtype) for tensor in graph.tensors))


def of_inputs(graph: Graph, dtype: str) -> Graph:
    """The graph with what it multiplies of one type; a result of 8 bits stays as it was, as kernels leave it."""
    kept = {tensor.name for tensor in graph.tensors if tensor.role == "output" and dtype_bits(dtype) == 8}
    changed = of_dtype(graph, dtype)
    tensors = (old if old.name in kept else new for old, new in zip(graph.tensors, changed.tensors, strict=True))
    return replace(changed, tensors=tuple(tensors))
