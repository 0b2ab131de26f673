"""Quantised caches and weights: bytes with their scales, dequantisation counted, numbers, and both machines."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

import gpu_model
import rdu_model
from patterns.count import group_demand, parameter_bytes, state_capacity_bytes, tensor_bytes
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.library import workload
from patterns.numbers.execute import execute
from patterns.plan import Plan

LAYERS = 80
SMALL = {
    "kv_cache_int8": {"seq": "2", "context": "11", "heads": "4", "kv_heads": "2", "head_dim": "8"},
    "kv_cache_int4": {"seq": "2", "context": "11", "heads": "4", "kv_heads": "2", "head_dim": "8", "within": "4"},
    "gemm_int4": {"m": "3", "n": "5", "k": "12", "within": "4"},
    "gemm_fp8_blocks": {"m": "3", "n": "6", "k": "8", "within": "4", "n_within": "2"},
    "fp8_attention": {
        "heads": "2",
        "queries": "6",
        "keys": "8",
        "query_rows": "3",
        "key_rows": "2",
        "head_dim": "4",
    },
}


@cache
def small(name: str) -> Graph:
    return workload(name, overrides=SMALL[name])


# Ways that fuse: `patternloom verify` runs the others too.
def lowered(graph: Graph) -> Iterator[tuple[str, Plan]]:
    h100, sn40l = gpu_model.load_machine("h100_sxm"), rdu_model.load_machine("sn40l")
    for policy in ("library", "epilogue"):
        yield policy, gpu_model.lower(graph, h100, policy=policy)
    for mode in ("operator", "fused"):
        yield mode, rdu_model.lower(graph, sn40l, mode=mode)


def test_a_cache_takes_its_numbers_and_what_they_stand_for() -> None:
    """80 layers, 8 KV heads of 128, 32,768 tokens: 10,737,418,240 B in 16 bits, 4.5 bits and 8.25 bits an element."""
    plain = LAYERS * state_capacity_bytes(workload("gqa_decode", context=32768))
    assert plain == 10_737_418_240
    assert LAYERS * state_capacity_bytes(workload("kv_cache_int4")) == 3_019_898_880
    assert LAYERS * state_capacity_bytes(workload("kv_cache_int8")) * 256 == plain * 132


def test_groups_of_a_weight_have_their_scales_and_zeros() -> None:
    """4 + 32 / 128 bits each of 4096 x 14336; fp8 weights a 4-byte scale for every 128 x 128."""
    assert parameter_bytes(workload("gemm_int4")) * 8 == 4096 * 14336 * 17 // 4
    assert parameter_bytes(workload("gemm_fp8_blocks")) == 2048 * 7168 + 4 * (2048 // 128) * (7168 // 128)
    assert tensor_bytes(workload("gemm_int4", overrides={"within": "64"}), "scales") == 2 * 14336 * 64


def test_dequantisation_is_counted_and_products_are_of_what_it_makes() -> None:
    """Convert, scale, shift: 3 ops a weight, and 3 for each key and value of the cache; the product is the same."""
    made = workload("gemm_int4")
    demand = group_demand(made, "gemm_int4", [node.name for node in made.blocks[0].nodes])
    assert (demand.vector_ops, demand.matrix_flops) == (3 * 4096 * 14336, 2 * 4096 * 14336)
    cache4 = workload("kv_cache_int4")
    names = ["k_numbers", "k_multiples", "keys", "v_numbers", "v_multiples", "values"]
    assert group_demand(cache4, "kv_cache_int4", names).vector_ops == 3 * 2 * 32768 * 8 * 128
    # Per-vector scales are multiplied onto scores; the products convert keys and values, an op each.
    cache8 = workload("kv_cache_int8")
    assert group_demand(cache8, "kv_cache_int8", ["scores", "y"]).vector_ops == 2 * 32768 * 8 * 128
    assert group_demand(cache8, "kv_cache_int8", ["scored", "weighted"]).vector_ops == 2 * 64 * 32768


@pytest.mark.parametrize("name", SMALL)
def test_fusing_lowerings_give_the_numbers(name: str) -> None:
    graph = small(name)
    arrays = random_arrays(graph, 4)
    due = evaluate(graph, arrays)
    for way, plan in lowered(graph):
        for tensor, array in execute(plan, arrays).items():
            np.testing.assert_allclose(array, due[tensor], rtol=1e-9, atol=1e-9, err_msg=f"{way} {tensor}")


@pytest.mark.parametrize(("name", "least", "greatest"), [("kv_cache_int8", -127, 127), ("kv_cache_int4", -8, 7)])
def test_what_is_written_stands_for_the_key_to_half_a_step(name: str, least: int, greatest: int) -> None:
    graph = small(name)
    arrays = random_arrays(graph, 5)
    done = evaluate(graph, arrays, also=["k_number", "k_scale"], rounding=gpu_model.rounded_results)
    numbers, scale = done["k_number"], done["k_scale"]
    assert (numbers.min(), numbers.max()) == (least, greatest) or name == "kv_cache_int8"
    assert max(abs(numbers.min()), abs(numbers.max())) == max(-least, greatest)
    stands_for = numbers * scale[..., None]
    if name == "kv_cache_int4":
        stands_for = stands_for + evaluate(graph, arrays, also=["k_zero"])["k_zero"][..., None]
    # Half a step, and what the scale itself is rounded by.
    assert (np.abs(stands_for - arrays["k"]) <= 0.51 * scale[..., None] + 0.01).all()


def test_a_vector_of_zeros_is_quantised_as_zeros() -> None:
    graph = small("kv_cache_int8")
    arrays = random_arrays(graph, 6) | {"k": np.zeros((1, 2, 2, 8))}
    done = evaluate(graph, arrays, also=["k_number"], rounding=gpu_model.rounded_results)
    assert not done["k_number"].any()
    assert np.isfinite(done["y"]).all()


def test_a_tuned_kernel_dequantises_what_it_loads() -> None:
    """One kernel that moves the packed weights; attention reads a packed cache once, and no more than a tile again."""
    plan = gpu_model.lower(workload("gemm_int4"), gpu_model.load_machine("h100_sxm"))
    ((only,), packed) = plan.calls, parameter_bytes(plan.graph)
    assert packed < dict(only.traffic)["hbm"] < 1.01 * packed
    assert only.schedule.startswith(("cooperative", "pingpong", "warp_specialized"))
    for name in ("kv_cache_int4", "kv_cache_int8"):
        made = workload(name)
        calls = gpu_model.lower(made, gpu_model.load_machine("h100_sxm")).calls
        reader = next(call for call in calls if "y" in call.nodes)
        assert "scores" in reader.nodes
        assert dict(reader.traffic)["hbm"] < 1.01 * state_capacity_bytes(made)


def test_blocks_are_scaled_and_added_up_where_they_are_multiplied() -> None:
    """Sums of 4096 x 2048 for each of 56 blocks would be 1.9 GB; a tuned kernel holds those of one in registers."""
    plan = gpu_model.lower(workload("gemm_fp8_blocks"), gpu_model.load_machine("h100_sxm"))
    assert [call.nodes[-1] for call in plan.calls] == ["x_small", "c"]
    # The scales of x, which the kernel before has just written, may be in the L2.
    moved, scales = 4096 * 7168 + 2048 * 7168 + 2 * 4096 * 2048 + 4 * 56 * 16, 4 * 56 * 4096
    assert moved <= dict(plan.calls[-1].traffic)["hbm"] <= 1.05 * (moved + scales)
    # Two scales and an addition for every result and block, and a conversion of the result.
    assert dict(plan.calls[-1].work)["vector_ops"] == 4096 * 2048 * (3 * 56 + 2)


def test_products_of_bigger_sources_are_not_made_again_in_every_step() -> None:
    """SiLU times up is read as it was written: its sources are twice as many bytes."""
    plan = gpu_model.lower(workload("swiglu_mlp"), gpu_model.load_machine("h100_sxm"))
    assert [call.nodes for call in plan.calls] == [("gate", "up"), ("activated", "gated"), ("y",)]
