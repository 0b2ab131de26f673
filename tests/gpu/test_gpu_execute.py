"""Every plan computes its graph: calls, tiles and parts in their own order give what evaluate gives."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_model import load_machine, lower, machine_names, policy_names
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.library import workload
from patterns.numbers.execute import execute
from patterns.pipeline.simulate import simulate
from patterns.plan import Plan
from patterns.read import parse_graph

# Extents that do not divide by any tile.
SMALL: Mapping[str, Mapping[str, int]] = {
    "softmax": {"rows": 7, "columns": 300},
    "stable_softmax": {"rows": 300, "columns": 257},
    "gemm": {"m": 130, "n": 270, "k": 100},
    "gemm_bias_act": {"m": 65, "n": 300, "k": 129},
    "rms_norm": {"rows": 5, "hidden": 700},
    "add_rms_norm": {"rows": 200, "hidden": 130},
    "attention": {"batch": 2, "seq": 3, "context": 150, "kv_heads": 2, "group": 3, "head_dim": 24},
    "swiglu_mlp": {"tokens": 3, "hidden": 100, "ffn": 270},
    "llama": {
        "batch": 2,
        "seq": 3,
        "context": 70,
        "layers": 2,
        "hidden": 96,
        "model_heads": 6,
        "model_kv_heads": 3,
        "model_ffn": 130,
        "model_vocabulary": 301,
        "head_dim": 16,
    },
}


def graph_of(name: str, extents: Mapping[str, int]) -> Graph:
    return workload(name, overrides={dim: str(extent) for dim, extent in extents.items()})


def assert_equal(plan: Plan, seed: int = 1) -> None:
    arrays = random_arrays(plan.graph, seed, plan.members)
    expected = evaluate(plan.graph, arrays, plan.members)
    got = execute(plan, arrays)
    assert got.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_allclose(got[name], array, rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("policy", policy_names())
@pytest.mark.parametrize("name", SMALL)
def test_plans_compute_their_graphs(name: str, policy: str) -> None:
    """On every third machine, so that graphs and policies take turns on all."""
    graph = graph_of(name, SMALL[name])
    first = (list(SMALL).index(name) + policy_names().index(policy)) % 3
    for machine in machine_names()[first::3]:
        assert_equal(lower(graph, load_machine(machine), policy=policy))


@pytest.mark.parametrize("parts", [2, 3, 7])
def test_a_split_attention_is_put_together(parts: int) -> None:
    extents = {"batch": 1, "seq": 2, "context": 613, "kv_heads": 2, "group": 3, "head_dim": 24}
    plan = lower(graph_of("attention", extents), load_machine("h100_sxm"), options={"splits": parts})
    split, combine = plan.calls
    assert split.tiling.splits == (("context", parts),)
    assert combine.combines == split.name
    assert_equal(plan)


def test_members_sum_what_they_have() -> None:
    extents = {**SMALL["llama"], "tensor_parallel": 3, "model_vocabulary": 300, "model_ffn": 132}
    for policy in policy_names():
        assert_equal(lower(graph_of("llama", extents), load_machine("h100_sxm"), policy=policy, members=3))


@settings(max_examples=25, deadline=None)
@given(
    m=st.integers(1, 150),
    n=st.integers(1, 150),
    k=st.integers(1, 100),
    tile_m=st.sampled_from([1, 7, 64]),
    tile_n=st.sampled_from([3, 8, 256]),
    schedule=st.sampled_from(["synchronous", "multistage", "warp_specialized", "streaming"]),
)
def test_any_product_in_any_tiles(m: int, n: int, k: int, tile_m: int, tile_n: int, schedule: str) -> None:
    options = {"tile_m": tile_m, "tile_n": tile_n, "tile_k": 17}
    graph = graph_of("gemm", {"m": m, "n": n, "k": k})
    assert_equal(lower(graph, load_machine("unit"), schedule=schedule, options=options))


def test_a_tile_has_whole_what_is_moved_inside_a_kernel() -> None:
    # The roll is between two nodes of one kernel: no tile of columns could be rolled by itself.
    text = """
name: rolled
extents: {rows: 3, columns: 1000}
tensors:
  x: {dims: [rows, columns], dtype: bf16, role: input}
  y: {dims: [columns], dtype: bf16, role: output}
nodes:
  e: {kind: map, fn: exp, reads: [x]}
  r: {kind: buffer, fn: roll, reads: [e], along: columns, by: 7}
  y: {kind: reduce, fn: sum, reads: [r], over: [rows]}
"""
    plan = lower(parse_graph(text, "rolled.yaml", {}), load_machine("h100_sxm"))
    assert [call.nodes for call in plan.calls] == [("e", "r", "y")]
    assert_equal(plan)


@settings(max_examples=40, deadline=None)
@given(m=st.integers(1, 300), n=st.integers(1, 600), k=st.integers(1, 300))
def test_no_tile_is_left_out_of_the_program(m: int, n: int, k: int) -> None:
    """One SM does everything: what its program counts is the work of the call, and at least what was asked."""
    call = lower(graph_of("gemm", {"m": m, "n": n, "k": k}), load_machine("lecture_sm")).calls[0]
    counted = dict(simulate(call.program).counters)
    work, traffic = dict(call.work), dict(call.traffic)
    assert counted["matrix_flops"] == work["matrix_flops"] >= 2 * m * n * k
    assert counted["vector_ops"] == work["vector_ops"] >= m * n
    assert counted["l2_bytes"] <= traffic["l2"]
    assert traffic["l2"] >= 2 * (m * k + k * n + m * n)
    assert traffic["hbm"] == 2 * (m * k + k * n + m * n)
