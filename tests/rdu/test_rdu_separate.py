"""Sums over sockets as calls of their own, and as stages of a pipeline: the same numbers, other bytes and times."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patterns.errors import UnknownName
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.kind import has
from patterns.library import workload
from patterns.numbers.execute import execute
from patterns.plan import Plan
from patterns.read import parse_graph
from patterns.report import Report
from patterns.run import run_plan
from patterns.summarize import summarize
from rdu_model import load_machine, lower
from rdu_model.machine import Machine
from rdu_model.orchestrate import mode_names

SMALL = {
    "batch": "2", "context": "9", "layers": "2", "hidden": "12", "model_heads": "4", "model_kv_heads": "2",
    "head_dim": "6", "model_ffn": "8", "model_vocabulary": "16",
}  # fmt: skip
# A product whose depth is shared by two members, summed, and used: 64 x 64 x 64 bf16 everywhere.
SUMMED = """
name: summed
extents: {m: 64, n: 64, k: 64, group: 2}
tensors:
  a: {dims: [m, k], dtype: bf16, role: input}
  b: {dims: [k, n], dtype: bf16, role: weight}
  y: {dims: [m, n], dtype: bf16, role: output}
nodes:
  p: {kind: mm, reads: [a, b]}
  s: {kind: all_reduce, reads: [p], along: group}
  y: {kind: map, fn: relu, reads: [s]}
"""


@cache
def plan_of(model: str, members: int, phase: str, mode: str, collectives: str) -> Plan:
    graph = workload(model, phase=phase, context=1024, members=members)
    return lower(graph, load_machine("sn40l"), mode=mode, members=members, collectives=collectives)


@cache
def report_of(model: str, members: int, phase: str, mode: str, collectives: str) -> Report:
    return summarize(run_plan(plan_of(model, members, phase, mode, collectives)))


def sums(graph: Graph) -> int:
    """How often the graph sums over its members."""
    return sum(block.count for block, node in graph.nodes() if has(node, "communicates"))


@pytest.mark.parametrize("mode", ["fused", "looped"])
def test_each_sum_is_a_call_and_no_other_call_holds_one(mode: str) -> None:
    plan = plan_of("llama-3.1-8b", 8, "decode", mode, "separate")
    alone = {node.name for _, node in plan.graph.nodes() if has(node, "communicates")}
    for call in plan.calls:
        assert len(call.nodes) == 1 or not alone.intersection(call.nodes)
        assert call.collective == bool(alone.intersection(call.nodes))
    assert sum(call.count for call in plan.calls if call.collective) == sums(plan.graph) == 2 * 32 + 1
    # Nothing is lost, nothing is done twice.
    assert sorted(name for call in plan.calls for name in call.nodes) == sorted(n.name for _, n in plan.graph.nodes())
    decoder = [call for call in plan.calls if call.block == "decoder"]
    assert all((call.count, call.iterations) == (32, 1) for call in decoder)
    if mode == "looped":
        assert "not looped: nodes between sums over sockets, which are calls of their own" in decoder[0].reason


def test_two_sums_in_a_row_are_two_calls() -> None:
    again = "  t: {kind: all_reduce, reads: [s], along: group}\n  y:"
    graph = parse_graph(SUMMED.replace("  y: {kind", again + " {kind").replace("relu, reads: [s]", "relu, reads: [t]"))
    plan = lower(graph, load_machine("unit"), mode="fused", members=2, collectives="separate")
    assert [call.nodes for call in plan.calls] == [("p",), ("s",), ("t",), ("y",)]


def test_without_sums_nothing_changes() -> None:
    for mode in mode_names():
        graph, machine = workload("llama-3.1-8b", context=1024), load_machine("sn40l")
        plans = [lower(graph, machine, mode=mode, collectives=how) for how in ("overlapped", "separate")]
        assert plans[0] == plans[1]
    one = lower(parse_graph(SUMMED), load_machine("unit"), mode="unfused", members=2, collectives="separate")
    assert [call.nodes for call in one.calls] == [("p",), ("s",), ("y",)]


@pytest.mark.parametrize("mode", mode_names())
@pytest.mark.parametrize("machine", ["sn40l", "sn30", "unit"])
@pytest.mark.parametrize(("phase", "members"), [("decode", 2), ("decode", 4), ("prefill", 2)])
def test_the_numbers_are_those_of_the_graph(mode: str, machine: str, phase: str, members: int) -> None:
    # Of two KV heads four members have one each: two of them the same.
    graph = workload("llama", phase=phase, members=members, overrides=SMALL)
    plan = lower(graph, load_machine(machine), mode=mode, members=members, collectives="separate")
    arrays = random_arrays(graph, 3, members)
    found, expected = execute(plan, arrays), evaluate(graph, arrays, members)
    assert found.keys() == expected.keys()
    for name in expected:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize(
    ("model", "phase", "members"),
    [
        ("llama-3.1-8b", "decode", 8),
        ("llama-3.1-8b", "prefill", 16),
        ("llama-3.1-70b", "decode", 16),
        ("llama-3.1-70b", "prefill", 8),
    ],
)
def test_overlapping_hides_the_links_of_a_model(model: str, phase: str, members: int) -> None:
    together, apart = (report_of(model, members, phase, "fused", how) for how in ("overlapped", "separate"))
    assert dict(together.bytes)["network"] == dict(apart.bytes)["network"]
    assert apart.calls >= together.calls + 2 * 32
    exposed = [dict(report.overlap_ps)["exposed_network"] for report in (together, apart)]
    if phase == "prefill":
        # Links that work for milliseconds are seen for a quarter of that at most.
        assert 4 * exposed[0] < exposed[1]
    else:
        assert exposed[0] <= exposed[1]
        assert together.time_ps < apart.time_ps


def free_calls(**values: str) -> Machine:
    """The unit machine, whose calls cost nothing."""
    costs = ("program_load_ps", "argument_load_ps", "execute_ps")
    return load_machine("unit", {**{f"hardware_{name}": "0 s" for name in costs}, **values})


def summed(how: str, machine: Machine, **sizes: str) -> Report:
    graph = parse_graph(SUMMED, overrides=sizes)
    return summarize(run_plan(lower(graph, machine, mode="fused", members=2, collectives=how)))


def test_bytes_and_time_by_hand() -> None:
    tensor = 64 * 64 * 2
    late = free_calls(link_latency_ps="1 us")
    together, apart = summed("overlapped", late), summed("separate", late)
    assert (together.calls, apart.calls) == (1, 3)
    # Overlapped, the sum moves no byte of HBM: a, b and y do, on both sockets. Apart, p and s are written and read.
    assert dict(together.bytes)["hbm"] == 2 * 3 * tensor
    assert dict(apart.bytes)["hbm"] == 2 * 7 * tensor
    # Of two members each sends the whole payload: a half to be summed, a half summed.
    assert dict(together.bytes)["network"] == dict(apart.bytes)["network"] == 2 * tensor
    # A byte in a cycle everywhere: memory alone takes 3 tensors, or 7 in calls that do not overlap.
    assert together.time_ps >= 3 * tensor * 1000
    assert apart.time_ps >= 7 * tensor * 1000
    # Two trips of a microsecond are paid at most once, however many tiles there are: they stream.
    assert 0 <= together.time_ps - summed("overlapped", free_calls()).time_ps <= 2_000_000
    assert 0 <= apart.time_ps - summed("separate", free_calls()).time_ps <= 2_000_000


@settings(max_examples=12, deadline=None)
@given(st.integers(1, 200), st.integers(1, 200), st.integers(1, 200), st.sampled_from(["0 s", "200 ns", "3 us"]))
def test_overlapping_is_never_slower_and_never_moves_more(m: int, n: int, k: int, latency: str) -> None:
    machine = free_calls(link_latency_ps=latency)
    sizes = {"m": str(m), "n": str(n), "k": str(k)}
    together, apart = (summed(how, machine, **sizes) for how in ("overlapped", "separate"))
    assert together.time_ps <= apart.time_ps
    assert dict(together.bytes)["network"] == dict(apart.bytes)["network"]
    # What a sum and its neighbours hand to each other is written and read again, by both sockets.
    assert dict(apart.bytes)["hbm"] >= dict(together.bytes)["hbm"]


def test_an_unknown_way_is_told() -> None:
    with pytest.raises(
        UnknownName,
        match=r"unknown way of collectives 'apart' .did you mean 'separate'.*; there is: overlapped, separate",
    ):
        lower(parse_graph(SUMMED), load_machine("unit"), members=2, collectives="apart")
