"""Sums over several GPUs: the phases of every way, their bytes and latencies, and the way that is chosen by size."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import pytest

from gpu_model import load_machine, lower
from gpu_model.machine import Machine
from patterns.errors import UserError
from patterns.pipeline.simulate import simulate
from patterns.plan import Plan
from patterns.read import parse_graph
from patterns.run import run_plan
from patterns.summarize import summarize

WAYS = ("one_shot", "two_shot", "ring", "in_switch")
H100 = load_machine("h100_sxm")


def summed(elements: int, members: int, schedule: str = "auto", machine: str = "h100_sxm") -> Plan:
    """An all_reduce of bf16."""
    text = f"""
name: sum
extents: {{n: {elements}, gpus: {members}}}
tensors:
  x: {{dims: [n], dtype: bf16, role: input}}
nodes:
  y: {{kind: all_reduce, reads: [x], along: gpus}}
"""
    gpu = load_machine(machine)
    return lower(parse_graph(text, "sum.yaml", {}), gpu, members=members, schedule=schedule, launch="graph")


def kernel_us(plan: Plan) -> float:
    """A kernel as it is measured in a replayed graph: with the gap before it."""
    return (run_plan(plan, spans=False).calls[0].duration_ps + plan.launch.device_ps) / 1e6


@pytest.mark.parametrize("members", [2, 3, 8])
@pytest.mark.parametrize(
    ("way", "share"),
    [
        ("one_shot", lambda p: p - 1),
        ("two_shot", lambda p: 2 * (p - 1) / p),
        ("ring", lambda p: 2 * (p - 1) / p),
        ("in_switch", lambda p: (p + 1) / p),
    ],
)
def test_every_way_sends_its_share(way: str, share: object, members: int) -> None:
    payload = 2 * 2**20
    plan = summed(2**20, members, way)
    sent = dict(plan.calls[0].traffic)["network"]
    assert sent == ceil(payload * share(members))  # type: ignore[operator]
    assert dict(plan.calls[0].traffic)["hbm"] == 2 * payload
    # What the busiest SM sends, times the SMs, is what the call says.
    counted = dict(run_plan(plan).calls[0].timeline.counters)["network_bytes"]
    assert sent <= counted * H100.sm_count <= sent * 1.2
    summarize(run_plan(plan))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("elements", [128, 2**17, 2**24])
def test_what_is_predicted_is_what_is_simulated(way: str, elements: int) -> None:
    from gpu_model.asked import Asked
    from gpu_model.choice.choose import choose
    from gpu_model.options import Options
    from gpu_model.schedule import schedule_named
    from gpu_model.tiles.spaces import spaces_of

    graph = summed(elements, 8, way).graph
    asked = Asked("sum", spaces_of(graph, graph.blocks[0].nodes, frozenset()), way, Options(), members=8)
    chosen = choose(asked, H100)
    cycles = simulate(schedule_named(way).program(chosen.work, chosen.choice, H100), spans=False).total_cycles
    assert chosen.predicted_cycles == pytest.approx(cycles, rel=0.03)


# 450 GB/s in a direction and 1 us to a neighbour; all else is free.
LINKS = replace(
    load_machine("unit"),
    sm_count=1,
    network_bytes_per_s=450 * 10**9,
    network_latency_ps=10**6,
    load_bytes_per_cycle=10**6,
    store_bytes_per_cycle=10**6,
    l2_bytes_per_cycle=10**6,
    hbm_bytes_per_s=10**18,
    features=(),
)


def ring_us(members: int, machine: Machine) -> float:
    """16 MiB."""
    plan = lower(summed(2**23, members).graph, machine, members=members, schedule="ring")
    return run_plan(plan, spans=False).calls[0].duration_ps / 1e6


def test_a_ring_is_bytes_over_the_link_and_a_latency_a_round() -> None:
    # 65.245 + 14 us for 8 GPUs, 62.138 + 10 us for 6.
    for members, expected_us in ((8, 79.245), (6, 72.138)):
        assert ring_us(members, LINKS) == pytest.approx(expected_us, rel=0.015)


def test_a_ring_over_nodes_is_as_slow_as_its_slowest_link() -> None:
    nodes = replace(LINKS, node_gpus=4, node_network_bytes_per_s=50 * 10**9, node_network_latency_ps=0)
    # 2 x 7/8 of 16 MiB over the 50 GB/s between nodes of 4; within a node 2 x 3/4 over 450 GB/s and 6 us.
    assert ring_us(8, nodes) == pytest.approx(587.2, rel=0.015)
    assert ring_us(4, nodes) == pytest.approx(55.924 + 6, rel=0.015)


def test_no_switch_adds_up_what_other_nodes_have() -> None:
    eight, sixteen = (summed(2**24, members) for members in (8, 16))
    assert [plan.calls[0].schedule.split()[0] for plan in (eight, sixteen)] == ["in_switch", "two_shot"]
    # Two 15/16 of 32 MiB over 50 GB/s.
    assert kernel_us(sixteen) > 1258
    assert dict(sixteen.rates.peak)["network_bytes"] == 50e9
    with pytest.raises(UserError, match=r"node_gpus: a node ends there, and node_network_bytes_per_s does not say"):
        load_machine("lecture_sm", {"node_gpus": "4"})


def test_the_way_follows_from_the_size() -> None:
    ways = [summed(2**bits, 8).calls[0].schedule.split()[0] for bits in range(10, 29)]
    assert ways == sorted(ways, key=["one_shot", "two_shot", "in_switch"].index)
    assert set(ways) == {"one_shot", "two_shot", "in_switch"}
    # Two GPUs send as much in one phase as in two, so the second meeting is never worth it.
    assert {summed(2**bits, 2).calls[0].schedule.split()[0] for bits in (10, 20, 26)} == {"one_shot"}


# Measured: TensorRT-LLM's kernels, ai-dynamo/aiconfigurator. (machine, GPUs, bf16 elements, us)
MEASURED = [
    ("h100_sxm", 2, 1024, 2.774),
    ("h100_sxm", 2, 2**20, 9.414),
    ("h100_sxm", 8, 4096, 3.541),
    ("h100_sxm", 8, 2**17, 10.17),
    ("h100_sxm", 8, 2**26, 575.5),
    ("h200", 8, 2**16, 6.393),
    ("b200", 2, 2**20, 8.02),
    ("b200", 8, 2**18, 10.944),
]


@pytest.mark.parametrize(("machine", "members", "elements", "measured_us"), MEASURED)
def test_sums_take_about_what_was_measured(machine: str, members: int, elements: int, measured_us: float) -> None:
    assert kernel_us(summed(elements, members, machine=machine)) == pytest.approx(measured_us, rel=0.15)


def test_more_members_take_longer_for_the_same_payload() -> None:
    times = [kernel_us(summed(2**16, members)) for members in range(2, 9)]
    assert times == sorted(times)


def test_a_switch_that_does_not_add_is_refused() -> None:
    with pytest.raises(UserError, match=r"schedule in_switch needs multimem, which a100_sxm lacks; .* works there"):
        summed(1024, 8, "in_switch", machine="a100_sxm")


def test_a_schedule_for_sums_leaves_other_kernels_alone() -> None:
    from patterns.library import workload

    graph = workload("llama-3.1-8b", context=256, members=4)
    plan = lower(graph, H100, members=4, schedule="ring")
    chosen = {call.schedule.split()[0] for call in plan.calls if call.collective}
    assert chosen == {"ring"}
    assert not any("ring (" in call.schedule for call in plan.calls if not call.collective)
