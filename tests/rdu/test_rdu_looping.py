"""Loops over executions of a block: no slower than calls one by one, or not made; what they hand on may spill."""

from __future__ import annotations

import numpy as np
import pytest

from patterns.errors import UserError
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.library import workload
from patterns.numbers.execute import execute
from patterns.pipeline.simulate import simulate
from patterns.plan import Plan
from patterns.read import parse_graph
from patterns.run import run_plan
from rdu_model import load_machine, lower

MACHINE = load_machine("sn40l")
# Two stages of a wide tensor that is handed from layer to layer.
LAYERS = """
name: layers
extents: {n: 64, m: 64}
tensors:
  x: {dims: [n, m], dtype: bf16, role: input}
blocks:
  layer:
    count: 5
    carried: {x: y}
    nodes:
      a: {kind: map, fn: abs, reads: [x]}
      y: {kind: zip, fn: add, reads: [a, x]}
  last:
    nodes:
      z: {kind: map, fn: neg, reads: [y]}
"""


def layers_on(pmus: int, mode: str = "looped", **values: str) -> Plan:
    """On unit with PMUs of 4 KiB: the tensor takes two, and two of it four."""
    machine = load_machine("unit", {"pmus": str(pmus), "pmu_bytes": "4 KiB", **values})
    return lower(parse_graph(LAYERS, "layers.yaml", {}), machine, mode=mode)


def hbm_bytes(plan: Plan, block: str) -> int:
    return sum(dict(call.work)["hbm_bytes"] * call.count for call in plan.calls if call.block == block)


def test_what_layers_hand_on_stays_on_the_chip_if_there_is_room() -> None:
    plan = layers_on(64)
    (call,) = (call for call in plan.calls if call.block == "layer")
    assert (call.count, call.iterations) == (1, 5)
    # In at first and out at last.
    assert hbm_bytes(plan, "layer") == 2 * 64 * 64 * 2
    assert "off-chip" not in call.reason


def test_what_has_no_room_goes_through_off_chip_memory() -> None:
    plan = layers_on(4, hardware_execute_ps="1 us")
    (call,) = (call for call in plan.calls if call.block == "layer")
    assert (call.count, call.iterations) == (1, 5)
    assert "x handed on through off-chip memory: one section needs" in call.reason
    assert hbm_bytes(plan, "layer") == 5 * 2 * 64 * 64 * 2
    arrays = random_arrays(plan.graph, 0)
    np.testing.assert_allclose(execute(plan, arrays)["z"], evaluate(plan.graph, arrays)["z"])
    # A layer loads what the one before stored, all of it: five times in and out, one after the other.
    assert simulate(call.program).total_cycles >= 5 * 2 * 64 * 64 * 2
    fused = layers_on(4, "fused", hardware_execute_ps="1 us")
    assert run_plan(plan).schedule.total_cycles < run_plan(fused).schedule.total_cycles


def test_a_layer_waits_until_what_the_one_before_stored_is_there() -> None:
    latency = {"hbm_latency_cycles": "20000 cycles", "hardware_execute_ps": "1 us"}
    looped, fused = layers_on(4, **latency), layers_on(4, "fused", **latency)
    (loop,), (single,) = ([call for call in plan.calls if call.block == "layer"] for plan in (looped, fused))
    assert "off-chip memory" in loop.reason
    alone = simulate(single.program).total_cycles
    assert alone > 20_000
    assert simulate(loop.program).total_cycles >= 5 * alone - 100


def test_a_loop_that_would_be_slower_is_not_made() -> None:
    # With calls for nothing, handing on through off-chip memory is no better than calls one by one.
    free = {f"hardware_{part}_ps": "0 s" for part in ("program_load", "argument_load", "execute")}
    plans = {mode: layers_on(4, mode, **free) for mode in ("looped", "fused")}
    times = {mode: run_plan(plan).schedule.total_cycles for mode, plan in plans.items()}
    assert times["looped"] <= times["fused"]


GRAPHS = {
    "decode": ("llama-3.1-8b", "decode", 4096, 1),
    "prefill": ("llama-3.1-8b", "prefill", 512, 1),
    "long prefill": ("llama-3.1-70b", "prefill", 8192, 16),
}


def graph_named(name: str) -> tuple[Graph, int]:
    model, phase, context, members = GRAPHS[name]
    return workload(model, phase=phase, context=context, members=members), members


@pytest.mark.parametrize(
    ("name", "orchestration"),
    [("decode", "hardware"), ("decode", "software"), ("prefill", "software"), ("long prefill", "hardware")],
)
def test_looping_is_no_slower_than_calls_of_single_layers(name: str, orchestration: str) -> None:
    graph, members = graph_named(name)
    times = {}
    for mode in ("fused", "looped"):
        plan = lower(graph, MACHINE, mode=mode, members=members, orchestration=orchestration)
        times[mode] = run_plan(plan, spans=False).schedule.total_cycles
    assert times["looped"] <= 1.02 * times["fused"]


def test_llama_decode_is_three_calls_looped_and_thirty_four_fused() -> None:
    graph, _ = graph_named("decode")
    for orchestration in ("hardware", "software"):
        calls = {
            mode: sum(call.count for call in lower(graph, MACHINE, mode=mode, orchestration=orchestration).calls)
            for mode in ("looped", "fused")
        }
        assert calls == {"looped": 3, "fused": 34}


def test_a_long_prefill_says_what_its_layers_hand_on_and_how() -> None:
    graph, members = graph_named("long prefill")
    plan = lower(graph, MACHINE, mode="looped", members=members)
    layers = [call for call in plan.calls if call.block == "decoder"]
    reasons = " ".join([layers[0].reason, *(refusal.reason for refusal in plan.refusals)])
    assert "handed on through off-chip memory" in reasons or "not looped: " in reasons


def test_a_machine_of_another_family_is_refused() -> None:
    import gpu_model

    machine = gpu_model.load_machine("h100_sxm")
    with pytest.raises(UserError, match=r"h100_sxm is no RDU: rdu_model compiles for plasticine, sn10"):
        lower(workload("softmax"), machine)  # type: ignore[arg-type]
