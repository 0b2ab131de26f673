"""The epilogue policy: what follows a matrix product ends its tiles, by rules on traits, and saves what it hides."""

from __future__ import annotations

import pytest

from gpu_model import load_machine, lower, machine_names
from gpu_model.tiles.cuts import Cut
from gpu_model.tiles.spaces import spaces_of
from patterns.graph import Graph
from patterns.library import workload
from patterns.plan import Plan, Tile
from patterns.read import parse_graph

H100 = load_machine("h100_sxm")


def parse(text: str) -> Graph:
    return parse_graph(text, "test.yaml", {})


def kernels(plan: Plan, block: str = "") -> list[tuple[str, ...]]:
    return [call.nodes for call in plan.calls if call.nodes and call.block == (block or plan.graph.blocks[0].name)]


def hbm_bytes(plan: Plan) -> int:
    return sum(dict(call.traffic)["hbm"] * call.count for call in plan.calls)


def test_bias_and_activation_end_the_tiles_of_a_product() -> None:
    graph = workload("gemm_bias_act")
    plan, library = lower(graph, H100, policy="epilogue"), lower(graph, H100)
    assert kernels(plan) == [("product", "biased", "y")]
    # The product is neither written nor read again: 2048 x 16384 of 2 bytes, twice.
    assert hbm_bytes(library) - hbm_bytes(plan) == 2 * 2048 * 16384 * 2


def test_gate_and_up_share_a_tile_of_which_their_product_is_made() -> None:
    graph = workload("swiglu_mlp", overrides={"tokens": "256"})
    plan, library = lower(graph, H100, policy="epilogue"), lower(graph, H100)
    assert kernels(plan) == [("gate", "up", "activated", "gated"), ("y",)]
    # gate and up are written; the L2 still has them when they are read.
    assert hbm_bytes(library) - hbm_bytes(plan) == pytest.approx(2 * 256 * 14336 * 2, rel=0.1)
    loops = {tile.dim: tile.extent for tile in plan.calls[0].tiling.loops}
    # Both accumulators are in the registers of one CTA.
    assert 2 * loops["tokens"] * loops["ffn"] <= 2 * 128 * (255 - 32)


def test_a_layer_of_llama_has_two_kernels_less() -> None:
    graph = workload("llama-3.1-8b")
    plan, library = lower(graph, H100, policy="epilogue"), lower(graph, H100)
    per_layer = [sum(call.block == "decoder" for call in p.calls) for p in (library, plan)]
    assert per_layer == [10, 8]
    found = kernels(plan, "decoder")
    assert ("o", "middle") in found
    assert ("gate", "up", "activated", "gated") in found
    rotary = next(nodes for nodes in found if "q_rotary" in nodes)
    assert {"q", "k", "v", "k_written", "v_written"} <= set(rotary)


def test_rotary_position_keeps_heads_whole_in_a_tile() -> None:
    graph = workload("llama-3.1-8b", overrides={"seq": "2048", "context": "2048"})
    plan = lower(graph, H100, policy="epilogue")
    call = next(call for call in plan.calls if "q_rotary" in call.nodes)
    for nest in call.tiling.nests:
        rolled = "q_rotary" in nest.nodes or "k_rotary" in nest.nodes
        assert ("head_dim" in [tile.dim for tile in nest.tiling.loops]) <= (not rolled)


@pytest.mark.parametrize("machine", machine_names())
def test_a_product_with_an_end_is_run_as_a_product(machine: str) -> None:
    for name in ("gemm_bias_act", "swiglu_mlp"):
        for call in lower(workload(name), load_machine(machine), policy="epilogue").calls:
            assert "streaming" not in call.schedule or call.combines
    asked = lower(workload("gemm_bias_act"), load_machine(machine), policy="epilogue", schedule="synchronous")
    assert [call.schedule.split()[0] for call in asked.calls] == ["synchronous"]


def test_the_end_is_done_before_a_tile_is_stored() -> None:
    plain = lower(workload("gemm"), H100, policy="epilogue").calls[0]
    ended = lower(workload("gemm_bias_act"), H100, policy="epilogue").calls[0]
    units = {unit.name for unit in ended.program.units} - {unit.name for unit in plain.program.units}
    assert "special" in units  # gelu


SUMMED = """
name: summed
extents: {rows: 64, mid: 64, wide: 64}
tensors:
  a: {dims: [rows, mid], dtype: bf16, role: input}
  b: {dims: [mid, wide], dtype: bf16, role: weight}
  c: {dims: DIMS, dtype: bf16, role: input}
  y: {dims: RESULT, dtype: bf16, role: output}
nodes:
  p: {kind: mm, reads: [a, b], over: [mid]}
  y: {kind: zip, fn: add, reads: [p, c]}
"""


@pytest.mark.parametrize(
    ("dims", "result", "said"),
    [
        ("[rows, wide]", "[rows, wide]", ""),
        ("[wide]", "[rows, wide]", ""),
        ("[rows, wide, mid]", "[rows, wide, mid]", "y makes more than its product does"),
    ],
)
def test_an_end_makes_no_more_than_the_product(dims: str, result: str, said: str) -> None:
    plan = lower(parse(SUMMED.replace("DIMS", dims).replace("RESULT", result)), H100, policy="epilogue")
    assert len(plan.calls) == (2 if said else 1)
    assert [said in refusal.reason for refusal in plan.refusals] == ([True] if said else [])


def test_a_product_that_is_a_result_is_not_ended() -> None:
    text = SUMMED.replace("DIMS", "[rows, wide]").replace("RESULT", "[rows, wide]")
    kept = text.replace("  c:", "  p: {dims: [rows, wide], dtype: bf16, role: output}\n  c:")
    plan = lower(parse(kept), H100, policy="epilogue")
    assert kernels(plan) == [("p",), ("y",)]
    assert [refusal.reason for refusal in plan.refusals] == ["p is needed outside: it is a result"]


def test_operands_of_an_end_are_loaded_once_a_tile_and_hold_no_shared_memory() -> None:
    text = SUMMED.replace("DIMS", "[rows, wide]").replace("RESULT", "[rows, wide]")
    graph = parse(text.replace("rows: 64, mid: 64, wide: 64", "rows: 4096, mid: 4096, wide: 4096"))
    space = spaces_of(graph, graph.blocks[0].nodes, ("p",))[0]
    cut = Cut(space, (Tile("rows", 128), Tile("wide", 256)), (Tile("mid", 64),))
    assert (cut.step_bytes, cut.held_bytes, cut.finish_bytes) == ((128 + 256) * 64 * 2, 0, 128 * 256 * 2)
    assert cut.tile_bytes == 64 * cut.step_bytes + cut.finish_bytes
    assert cut.out_bytes == 128 * 256 * 2
