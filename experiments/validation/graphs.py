"""Graphs that measurements are of, built once and resized."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from patterns.graph import Graph
from patterns.library import workload
from patterns.read import parse_graph

# TensorRT-LLM's dynamic quantisation of a whole tensor: its greatest absolute value (by rows, then of all), then scale
# and convert. Three small launches come before the product, as there.
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


def gemm(m: int, n: int, k: int, dtype: str) -> Graph:
    """One matrix product. fp8: its input is quantised first, its result is bf16."""
    base = quantized_gemm() if dtype == "fp8" else of_dtype(workload_once("gemm"), dtype)
    return resized(base, {"m": m, "n": n, "k": k})


def attention(batch: int, seq: int, context: int, heads: int, kv_heads: int, head_dim: int) -> Graph:
    """Causal attention of the last `seq` of `context` tokens."""
    sizes = {"batch": batch, "seq": seq, "context": context, "kv_heads": kv_heads, "head_dim": head_dim}
    return resized(workload_once("attention"), {**sizes, "group": heads // kv_heads})


def all_reduce(elements: int, members: int) -> Graph:
    """The sum of bf16 elements over members."""
    return resized(all_reduce_once(), {"elements": elements, "members": members})


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


@cache
def of_dtype(graph: Graph, dtype: str) -> Graph:
    """The graph with all its tensors of one type."""
    return replace(graph, tensors=tuple(replace(tensor, dtype=dtype) for tensor in graph.tensors))
