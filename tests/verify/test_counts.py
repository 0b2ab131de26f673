"""Counts that are exact whatever their size, and work that is issued beside work that is of use."""

from __future__ import annotations

import pytest

from gpu_model import load_machine, lower
from patterns.count import graph_demand, parameters, state_capacity_bytes
from patterns.errors import DoesNotFit
from patterns.library import workload
from patterns.pipeline.program import Program, Role, Unit
from patterns.pipeline.script import Loop, Run
from patterns.pipeline.simulate import simulate

H100 = load_machine("h100_sxm")


def test_flops_of_a_huge_prefill_are_exact() -> None:
    tokens, layers, hidden, heads, kv_heads, head_dim, ffn, vocabulary = (
        2**20 + 1,
        126,
        16384,
        128,
        8,
        128,
        53248,
        128256,
    )
    graph = workload("llama-3.1-405b", phase="prefill", context=tokens)
    layer = hidden * (2 * heads + 2 * kv_heads) * head_dim + 3 * hidden * ffn
    attention = 2 * heads * head_dim * tokens
    # Of the head only the last token is needed.
    flops = 2 * (tokens * layers * (layer + attention) + vocabulary * hidden)
    assert graph_demand(graph).matrix_flops == flops
    assert flops > 2**63
    assert state_capacity_bytes(graph) == 2 * 2 * layers * kv_heads * head_dim * tokens
    assert parameters(graph) == 405_853_388_800


def test_many_of_them_are_exact_too() -> None:
    graph = workload("llama-3.1-405b", context=2**20, batch=3**30)
    one = workload("llama-3.1-405b", context=2**20)
    flops = graph_demand(graph).matrix_flops
    assert flops == 3**30 * graph_demand(one).matrix_flops > 10**26
    assert flops != int(float(flops))  # a float loses the last digits


def test_cycles_beyond_64_bits_are_exact() -> None:
    body = Loop(10**20 + 7, (Run("tc", 3, "mma", (("matrix_flops", 5),)),))
    timeline = simulate(Program("long", (Unit("tc", "matrix"),), (), (Role("warp", (body,)),)))
    assert timeline.total_cycles == 3 * (10**20 + 7)
    assert dict(timeline.counters)["matrix_flops"] == 5 * (10**20 + 7)


def test_a_tail_is_issued_as_a_whole_tile() -> None:
    # 1000 rows are 7 tiles of 128 and one of 104.
    graph = workload("gemm", overrides={"m": "1000", "n": "256", "k": "64"})
    (call,) = lower(graph, H100, options={"tile_m": 128, "tile_n": 256, "splits": 1}).calls
    assert graph_demand(graph).matrix_flops == 2 * 1000 * 256 * 64 == 32_768_000
    assert dict(call.work)["matrix_flops"] == 2 * 1024 * 256 * 64 == 33_554_432


@pytest.mark.parametrize(("head_dim", "most"), [(64, 6), (128, 3), (256, 1)])
def test_slots_of_attention_that_fit_by_head_size(head_dim: int, most: int) -> None:
    # 128 queries and 128 keys and values a slot, fp16: 128 * head_dim * 2 * (1 + 2 * slots) bytes, of 232,448.
    payload = 128 * head_dim * 2
    assert payload * (1 + 2 * most) <= 232_448 < payload * (1 + 2 * (most + 1))
    sizes = {"seq": 128, "kv_heads": 1, "group": 1, "head_dim": head_dim}
    graph = workload("attention", overrides={name: str(size) for name, size in sizes.items()})
    fixed: dict[str, int | str] = {"tile_m": 128, "tile_k": 128, "splits": 1}
    (call,) = lower(graph, H100, schedule="attention_serial", options={**fixed, "slots": most}).calls
    assert f"({most} slot" in call.schedule
    with pytest.raises(DoesNotFit, match=rf"at most {most} fit") as refused:
        lower(graph, H100, schedule="attention_serial", options={**fixed, "slots": most + 1})
    assert refused.value.available == 232_448
    assert 0 <= refused.value.needed - payload * (1 + 2 * (most + 1)) < 8192  # positions and barriers beside
