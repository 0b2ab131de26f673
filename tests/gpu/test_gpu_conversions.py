"""Narrow weights and caches are loaded as they lie, and widened on their way to the matrix unit."""

from __future__ import annotations

import numpy as np
import pytest

from gpu_model import load_machine, lower
from patterns.evaluate import evaluate, random_arrays
from patterns.library import workload
from patterns.numbers.execute import execute
from patterns.read import parse_graph

GPU = load_machine("h100_sxm")
# What makes the operand reads an input: it is work on activations, which is done once and kept.
ACTIVATIONS = """
name: gated
extents: {m: 256, n: 256, k: 256}
tensors:
  a: {dims: [m, k], dtype: bf16, role: input}
  g: {dims: [m, k], dtype: bf16, role: input}
  b: {dims: [k, n], dtype: bf16, role: weight}
  y: {dims: [m, n], dtype: bf16, role: output}
nodes:
  active: {kind: map, fn: silu, reads: [g]}
  gated:  {kind: zip, fn: mul, reads: [a, active]}
  y:      {kind: mm, reads: [gated, b], over: [k]}
"""


def test_a_product_of_int4_weights_is_one_kernel_that_reads_int4() -> None:
    graph = workload("gemm_int4")
    (call,) = lower(graph, GPU, policy="library").calls
    n, k = 14336, 4096
    weights, scales = n * k // 2, 2 * 2 * n * k // 128
    assert dict(call.traffic)["hbm"] == weights + scales + 2 * k + 2 * n
    assert dict(call.work)["matrix_flops"] >= 2 * n * k
    # A conversion, a scale and a zero for every weight.
    assert dict(call.work)["vector_ops"] >= 3 * n * k


def test_attention_reads_a_quantised_cache_as_it_lies() -> None:
    plan = lower(workload("kv_cache_int4"), GPU, policy="library")
    attention = next(call for call in plan.calls if "scores" in call.nodes)
    assert {"keys", "values", "y"} <= set(attention.nodes)
    narrow = sum(dict(call.traffic)["hbm"] for call in plan.calls)
    wide = sum(dict(call.traffic)["hbm"] for call in lower(workload("kv_cache_int4"), GPU, policy="operator").calls)
    assert 4 * narrow < wide


def test_work_on_activations_stays_a_kernel_of_its_own() -> None:
    plan = lower(parse_graph(ACTIVATIONS), GPU, policy="library")
    assert [call.nodes for call in plan.calls] == [("active", "gated"), ("y",)]


@pytest.mark.parametrize("policy", ["library", "epilogue", "auto"])
def test_converted_operands_give_the_same_numbers(policy: str) -> None:
    graph = workload("gemm_int4", overrides={"m": 5, "n": 130, "k": 256})
    arrays = random_arrays(graph, seed=2)
    expected = evaluate(graph, arrays)["c"]
    assert np.allclose(execute(lower(graph, GPU, policy=policy), arrays)["c"], expected, rtol=1e-12)
