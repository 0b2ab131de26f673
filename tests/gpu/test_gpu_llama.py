"""Llama 3.1 8B on an H100: kernels counted by the rules, and times that are plausible beside published ones."""

from __future__ import annotations

from functools import cache
from time import process_time

import pytest

from gpu_model import load_machine, lower, policy_names
from patterns.library import workload
from patterns.plan import Plan
from patterns.report import Execution
from patterns.run import run_plan
from patterns.summarize import summarize

H100 = load_machine("h100_sxm")


@cache
def plan_of(policy: str, launch: str = "graph", batch: int = 1) -> Plan:
    return lower(workload("llama-3.1-8b", batch=batch, context=2048), H100, policy=policy, launch=launch)


@cache
def run(policy: str) -> Execution:
    return run_plan(plan_of(policy))


def per_layer(plan: Plan) -> int:
    return sum(call.block == "decoder" for call in plan.calls)


def test_kernels_are_counted_from_the_graph() -> None:
    counts = {policy: per_layer(plan_of(policy)) for policy in policy_names()}
    assert counts == {**counts, "pattern": 40, "operator": 25, "library": 10, "epilogue": 8}
    totals = {policy: sum(call.count for call in plan_of(policy).calls) for policy in policy_names()}
    assert totals == {**totals, "pattern": 1292, "operator": 807, "library": 324, "epilogue": 260}


def test_what_a_layer_is_under_the_library_policy() -> None:
    said = [(call.name, call.reason.split(",")[0]) for call in plan_of("library").calls if call.block == "decoder"]
    assert said == [
        ("decoder.stream..attention_in", "a reduce with the elementwise nodes around it"),
        ("decoder.q..v", "matrix products of the same input"),
        ("decoder.q_rolled..v_written", "elementwise and indexed nodes that share an input"),
        ("decoder.scores..attended", "a softmax between two matrix products"),
        ("decoder.scores..attended.combine", "puts together the parts of decoder.scores..attended"),
        ("decoder.o", "one node"),
        ("decoder.middle..ffn_in", "a reduce with the elementwise nodes around it"),
        ("decoder.gate..up", "matrix products of the same input"),
        ("decoder.activated..gated", "a chain of elementwise nodes"),
        ("decoder.down", "one node"),
    ]


def test_attention_is_split_only_where_its_tiles_leave_sms_idle() -> None:
    assert per_layer(plan_of("library", batch=1)) == 10
    assert per_layer(plan_of("library", batch=64)) == 9


@pytest.mark.parametrize("phase", ["decode", "prefill"])
def test_a_short_context_gets_the_same_attention_kernel(phase: str) -> None:
    """Whole rows of scores fit a tile there; the rotation of the queries still belongs to the cache's kernel."""
    plan = lower(workload("llama-3.1-8b", phase=phase, batch=64, context=128), H100)
    names = [call.name for call in plan.calls if call.block == "decoder"]
    assert "decoder.q_rolled..v_written" in names
    assert "decoder.scores..attended" in names
    # 17 GFLOP in 172 MB: a layer's attention over 64 prompts of 128 tokens is no long kernel.
    assert run_plan(plan).call_named["decoder.scores..attended"].duration_ps < 150 * 10**6


def test_other_models_get_the_same_kernels() -> None:
    for name in ("llama-3.2-1b", "llama-3.1-8b"):
        calls = lower(workload(name), H100, policy="operator").calls
        # A product whose K is shared out has one kernel more, as the model finds best for its extents.
        assert sum(call.block == "decoder" and not call.combines for call in calls) == 25


@pytest.mark.parametrize("policy", policy_names())
def test_no_call_is_faster_than_its_work_allows(policy: str) -> None:
    execution = run(policy)
    report = summarize(execution)  # checks peaks, and that parts add up
    assert report.time_ps >= report.bound_ps
    achievable = execution.plan.rates.achievable_by_resource
    for call, ran in zip(execution.plan.calls, execution.calls, strict=True):
        for resource, amount in call.work:
            assert ran.duration_ps >= int(amount * 10**12 / achievable[resource]), (call.name, resource)


@pytest.mark.parametrize("policy", policy_names())
def test_the_limiting_unit_is_busy_for_all_the_work(policy: str) -> None:
    """What the busiest SM's units do covers the work of the whole GPU at achievable rates: no step is negative."""
    execution = run(policy)
    achievable = execution.plan.rates.achievable_by_resource
    for call, ran in zip(execution.plan.calls, execution.calls, strict=True):
        busiest = max(ran.timeline.busy_cycles.values()) / call.clock_hz
        assert busiest >= max(amount / achievable[resource] for resource, amount in call.work) * (1 - 1e-9), call.name


def test_less_is_moved_the_more_is_fused() -> None:
    moved = [dict(summarize(run(policy)).bytes)["hbm"] for policy in policy_names()]
    assert moved[0] > moved[1] > moved[2] > 15_009_849_344 + 2048 * 131_072


# Kernel times in ms over 32 layers that were measured on an H100 (aiconfigurator's tables, TensorRT-LLM and vLLM);
# they include the gap between kernels of a replayed graph. The model is not fitted to them.
MEASURED = {
    "decoder.q..v": (0.637, 0.707),
    "decoder.o": (0.481, 0.530),
    "decoder.gate..up": (2.575, 2.783),
    "decoder.down": (1.388, 1.483),
}


@pytest.mark.parametrize("name", MEASURED)
def test_the_products_of_a_token_are_near_what_was_measured(name: str) -> None:
    gap_ps = H100.launch_gap_ps
    modelled_ms = 32 * (run("library").call_named[name].duration_ps + gap_ps) / 10**9
    low, high = MEASURED[name]
    assert 0.85 * low < modelled_ms < 1.05 * high


def test_a_token_takes_little_less_than_was_measured() -> None:
    # Sums of measured kernel times are 6.2 to 6.6 ms; the memory's bound is 4.6 ms.
    assert 5.4e9 < run("library").schedule.total_cycles < 6.6e9


def test_the_more_is_fused_the_faster() -> None:
    total = {policy: run(policy).schedule.total_cycles for policy in policy_names()}
    assert total["pattern"] > total["operator"] > total["library"]


def test_a_stream_is_hidden_behind_long_kernels() -> None:
    # 807 launches of 2.1 us on the host run ahead of 6.6 ms on the device; a graph costs its one launch.
    stream, graph = run_plan(plan_of("operator", launch="stream")), run("operator")
    waits = stream.schedule.total_cycles - (graph.schedule.total_cycles - graph.plan.launch.once_ps)
    assert 0 < waits < 10 * stream.plan.launch.host_ps


def test_members_send_what_they_have_to_all_others() -> None:
    graph = workload("llama-3.1-8b", context=2048, members=4)
    plan = lower(graph, H100, members=4)
    sums = [call for call in plan.calls if call.collective]
    assert [(call.block, call.count) for call in sums] == [("embedding", 1), ("decoder", 32), ("decoder", 32)]
    payload = 4096 * 2
    for call in sums:
        # What is summed was made by the kernel before, so the L2 has it.
        assert dict(call.traffic) == {"hbm": payload, "l2": 2 * payload, "network": 3 * payload}
        assert dict(run_plan(plan).call_named[call.name].timeline.busy)["link"] > 0


def test_an_all_reduce_is_as_fast_as_the_links() -> None:
    # 256 MiB in bf16 over 8 GPUs: measured 1.09 ms, with sums in the switch.
    from patterns.read import parse_graph

    text = """
name: sum
extents: {n: 134217728, gpus: 8}
tensors:
  x: {dims: [n], dtype: bf16, role: input}
  y: {dims: [n], dtype: bf16, role: output}
nodes:
  y: {kind: all_reduce, reads: [x], along: gpus}
"""
    plan = lower(parse_graph(text, "sum.yaml", {}), H100, members=8)
    assert run_plan(plan).calls[0].duration_ps == pytest.approx(1.09e9, rel=0.05)


def test_lowering_and_simulating_all_policies_is_quick() -> None:
    graph = workload("llama-3.1-8b", context=2048)
    took: list[float] = []
    # Again only if other work on the machine seems to have slowed it down.
    while len(took) < 3 and min(took, default=2) >= 2:
        start = process_time()
        for policy in policy_names():
            run_plan(lower(graph, H100, policy=policy))
        took.append(process_time() - start)
    assert min(took) < 2
