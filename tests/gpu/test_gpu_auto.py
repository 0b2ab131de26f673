"""The auto policy: the cheapest predicted fusion, never dearer than that of other policies, every refusal with why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from random import Random
from time import process_time

import pytest

from gpu_model import load_machine, lower, machine_names
from gpu_model.asked import Ask
from gpu_model.fusion import auto
from gpu_model.joining.kernel_cost import Cost, Costs, sort_of
from gpu_model.joining.legal import Group, Grouping, separate
from gpu_model.joining.partition import cheapest
from gpu_model.policy import policy_named
from patterns.graph import Graph
from patterns.library import graph_names, workload
from patterns.plan import Plan
from patterns.read import parse_graph
from patterns.run import run_plan
from tests.gpu.attention_text import ATTENTION

H100 = load_machine("h100_sxm")
GAP_CYCLES, HOST_CYCLES = 1373, 3843
OTHERS = ("pattern", "operator", "library", "epilogue")


def parse(text: str) -> Graph:
    return parse_graph(text, "test.yaml", {})


def groupings(graph: Graph, block: int, ask: Ask) -> dict[str, Grouping]:
    alone = separate(graph, graph.blocks[block], ask)
    return {name: policy_named(name).fuse(alone) for name in (*OTHERS, "auto")}


def run_time_ps(grouping: Grouping) -> int:
    cost = Costs(grouping, simulated=True).total(grouping.groups())
    assert cost is not None
    return cost.time_ps


def reason(plan: Plan, *nodes: str) -> str:
    found = [refusal.reason for refusal in plan.refusals if set(nodes) <= set(refusal.nodes)]
    assert len(found) == 1, found
    return found[0]


# Graphs whose kernels are long to simulate for nothing.
SMALLER = {
    "gpt2_training": {"batch": "2", "seq": "256"},
    "gemm_fp8_blocks": {"m": "256", "n": "256", "k": "1024"},
    "mamba": {"layers": "2"},
    "mamba2": {"layers": "2"},
}
# What it is made of, others have too.
LARGE = ("speculative_decoding", "deepseek_v3")
# Every graph on one of them, and those of few nodes on two, so that each has its turn.
PLACES = [*((name, 0) for name in machine_names()), ("h100_sxm", HOST_CYCLES)]
EACH, FEW_NODES = 2, 16


def turns() -> Iterator[tuple[str, str, int]]:
    """Graphs with where each is tried."""
    for at, name in enumerate(name for name in graph_names() if name not in LARGE):
        few = sum(len(block.nodes) for block in workload(name).blocks) <= FEW_NODES
        for turn in range(EACH if few else 1):
            yield name, *PLACES[(EACH * at + turn) % len(PLACES)]


@pytest.mark.parametrize(("name", "machine", "host"), list(turns()))
def test_auto_is_never_slower(name: str, machine: str, host: int) -> None:
    graph = workload(name, overrides=SMALLER.get(name, {}))
    for block in range(len(graph.blocks)):
        ask = Ask(load_machine(machine), gap_cycles=GAP_CYCLES, host_cycles=host)
        times = {policy: run_time_ps(grouping) for policy, grouping in groupings(graph, block, ask).items()}
        assert times["auto"] <= min(times.values()), times


def run_ps(plan: Plan) -> int:
    run = run_plan(plan, spans=False)
    return sum((run.call_named[call.name].duration_ps + plan.launch.device_ps) * call.count for call in plan.calls)


@pytest.mark.parametrize("overrides", [{}, {"seq": "512", "context": "512"}])
def test_auto_is_not_slower_when_it_is_run(overrides: dict[str, str]) -> None:
    graph = workload("llama-3.1-8b", overrides=overrides)
    times = {policy: run_ps(lower(graph, H100, policy=policy, launch="graph")) for policy in (*OTHERS, "auto")}
    assert times["auto"] <= min(times.values()), times


def test_llama_is_fused_in_less_than_a_second() -> None:
    graph = workload("llama-3.1-8b")
    assert [len(block.nodes) for block in graph.blocks][1] == 40
    start = process_time()
    plan = lower(graph, H100, policy="auto")
    assert process_time() - start < 1
    assert sum(call.block == "decoder" for call in plan.calls) <= 10


WEIGHTS = """
  wg{i}: {{dims: [a, f], dtype: bf16, role: weight}}
  wu{i}: {{dims: [a, f], dtype: bf16, role: weight}}
  wd{i}: {{dims: [f, a], dtype: bf16, role: weight}}
"""
LAYER = """
  q{i}: {{kind: map, fn: square, reads: [{x}]}}
  m{i}: {{kind: reduce, fn: mean, reads: [q{i}], over: [a]}}
  r{i}: {{kind: map, fn: rsqrt, reads: [m{i}]}}
  s{i}: {{kind: zip, fn: mul, reads: [{x}, r{i}]}}
  g{i}: {{kind: mm, reads: [s{i}, wg{i}], over: [a]}}
  u{i}: {{kind: mm, reads: [s{i}, wu{i}], over: [a]}}
  t{i}: {{kind: map, fn: silu, reads: [g{i}]}}
  p{i}: {{kind: zip, fn: mul, reads: [t{i}, u{i}]}}
  d{i}: {{kind: mm, reads: [p{i}, wd{i}], over: [f]}}
  x{i}: {{kind: zip, fn: add, reads: [{x}, d{i}]}}
"""


def test_deep_graphs_stay_usable() -> None:
    layers = 100
    text = "name: deep\nextents: {n: 64, a: 1024, f: 2048}\ntensors:\n  x: {dims: [n, a], dtype: bf16, role: input}\n"
    text += "".join(WEIGHTS.format(i=i) for i in range(layers)) + "nodes:\n"
    text += "".join(LAYER.format(i=i, x=f"x{i - 1}" if i else "x") for i in range(layers))
    graph = parse(text)
    start = process_time()
    plan = lower(graph, H100, policy="auto")
    assert process_time() - start < 15
    assert sum(len(call.nodes) for call in plan.calls) == 1000
    assert len(plan.calls) == 3 * layers


def test_groups_that_differ_in_names_only_are_of_one_sort() -> None:
    graph = parse("""
name: twice
extents: {n: 64, m: 32, k: 32, wide: 48}
tensors:
  x: {dims: [n, m], dtype: bf16, role: input}
  u: {dims: [n, k], dtype: bf16, role: input}
  v: {dims: [n, wide], dtype: bf16, role: input}
  w: {dims: [n, m], dtype: fp32, role: input}
nodes:
  a: {kind: map, fn: exp, reads: [x]}
  b: {kind: map, fn: exp, reads: [u]}
  c: {kind: map, fn: exp, reads: [v]}
  d: {kind: map, fn: exp, reads: [w]}
  e: {kind: zip, fn: add, reads: [x, x]}
  f: {kind: zip, fn: add, reads: [x, w]}
""")
    alone = separate(graph, graph.blocks[0], Ask(H100))
    sorts = {name: sort_of(graph, alone.of[name]) for name in "abcdef"}
    assert sorts["a"] == sorts["b"]
    assert len(set(sorts.values())) == 5
    assert sort_of(graph, alone.of["a"], kept={"x"}) != sorts["b"]


@dataclass
class Priced(Costs):
    """Costs that are given, by the names of a kernel's nodes."""

    prices: dict[tuple[str, ...], int] = field(default_factory=dict)

    def of(self, group: Group) -> Cost:
        return Cost(self.prices[group.names])


@pytest.mark.parametrize("seed", range(5))
def test_the_cut_of_a_chain_is_the_cheapest_of_all(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = "\n".join(f"  y{i}: {{kind: map, fn: exp, reads: [{f'y{i - 1}' if i else 'x'}]}}" for i in range(7))
    graph = parse(
        f"name: chain\nextents: {{n: 64}}\ntensors:\n  x: {{dims: [n], dtype: bf16, role: input}}\nnodes:\n{nodes}"
    )
    alone = separate(graph, graph.blocks[0], Ask(H100))
    names = [node.name for node in alone.nodes]
    random = Random(seed)
    prices = {tuple(names[a:b]): random.randint(1, 100) for a in range(7) for b in range(a + 1, 8)}
    monkeypatch.setattr("gpu_model.joining.partition.HOPELESS", Fraction(1, 1000))  # nothing is given up early
    cut = cheapest(alone.nodes, [alone], Priced(alone, prices=prices), lambda cost: cost.device_ps)
    every = (
        [0, *(at for at in range(1, 7) if cuts >> (at - 1) & 1), 7]  # every set of places to cut at
        for cuts in range(2**6)
    )
    least = min(sum(prices[tuple(names[a:b])] for a, b in pairwise(ends)) for ends in every)
    assert sum(prices[group.names] for group in cut.groups()) == least


NORMS = """
name: norms
extents: {rows: 4096, columns: COLUMNS, mid: 64}
tensors:
  x: {dims: [rows, columns], dtype: bf16, role: input}
  w: {dims: [columns, mid], dtype: bf16, role: weight}
  y: {dims: [rows, columns], dtype: bf16, role: output}
nodes:
  e: {kind: map, fn: exp, reads: [x]}
  s: {kind: reduce, fn: sum, reads: [e], over: [columns]}
  y: {kind: zip, fn: div, reads: [e, s]}
"""


def test_a_row_that_does_not_fit_is_refused_for_shared_memory() -> None:
    plan = lower(parse(NORMS.replace("COLUMNS", "2621440")), H100, policy="auto")
    assert "shared memory holds 232,448" in reason(plan, "s", "y")
    assert len(lower(parse(NORMS.replace("COLUMNS", "4096")), H100, policy="auto").calls) == 1


SUMS = """
name: sums
extents: {rows: 4096, inner: 64, columns: COLUMNS}
tensors:
  x: {dims: [rows, inner], dtype: bf16, role: input}
  w: {dims: [inner, columns], dtype: bf16, role: weight}
  y: {dims: [rows], dtype: bf16, role: output}
nodes:
  p: {kind: mm, reads: [x, w], over: [inner]}
  y: {kind: reduce, fn: max, reads: [p], over: [columns]}
"""


def test_sums_that_no_cta_can_hold_are_refused_for_registers() -> None:
    plan = lower(parse(SUMS.replace("COLUMNS", "100000").replace("inner: 64", "inner: 1")), H100, policy="auto")
    assert reason(plan, "p", "y") == (
        "its smallest tile holds 100,000 sums of p, and the registers of a CTA hold 57,088 beside what threads need"
    )


def test_a_kernel_that_would_be_dearer_is_refused_with_by_how_much() -> None:
    # A norm before a wide product would be made again for every tile of its columns.
    plan = lower(workload("llama-3.1-8b"), H100, policy="auto", launch="graph")
    refused = (r.reason for r in plan.refusals if {"ffn_in", "gate", "up"} <= set(r.nodes))
    said = next(reason for reason in refused if reason.startswith("not profitable: "))
    assert "us as one kernel" in said
    assert said.endswith("us more")
    # Only this policy goes by cost.
    for policy in OTHERS:
        refusals = lower(workload("llama-3.1-8b"), H100, policy=policy).refusals
        assert not [refusal for refusal in refusals if "profitable" in refusal.reason]


def test_a_circle_is_refused_with_its_path() -> None:
    plan = lower(workload("llama-3.1-8b"), H100, policy="auto")
    assert "leaves the kernel and comes back" in reason(plan, "attention_in", "middle")


def test_attention_whose_probabilities_are_a_result_says_who_reads_them() -> None:
    text = ATTENTION.replace("ROLE", "output").replace("keys: 256", "keys: 8192")
    plan = lower(parse(text), H100, policy="auto")
    assert "p is needed outside: it is a result" in [refusal.reason for refusal in plan.refusals]


def test_siblings_that_are_not_neighbours_are_joined() -> None:
    text = """
name: siblings
extents: {rows: 1, a: 4096, b: 4096}
tensors:
  x: {dims: [rows, a], dtype: bf16, role: input}
  w1: {dims: [a, b], dtype: bf16, role: weight}
  w2: {dims: [a, b], dtype: bf16, role: weight}
  w3: {dims: [b, a], dtype: bf16, role: weight}
  w4: {dims: [b, a], dtype: bf16, role: weight}
nodes:
  p: {kind: mm, reads: [x, w1], over: [a]}
  t: {kind: mm, reads: [p, w3], over: [b]}
  q: {kind: mm, reads: [x, w2], over: [a]}
  u: {kind: mm, reads: [q, w4], over: [b]}
"""
    plan = lower(parse(text), H100, policy="auto", launch="graph")
    assert ("p", "q") in [call.nodes for call in plan.calls]


def test_more_launches_cost_more_where_the_host_sets_the_pace() -> None:
    graph = workload("llama-3.1-8b", overrides={"layers": "2", "hidden": "256", "model_ffn": "512", "model_heads": "8"})
    free = lower(graph, H100, policy="auto", launch="graph")
    paced = lower(graph, H100, policy="auto", launch="stream")
    assert len(paced.calls) <= len(free.calls)


def test_the_policy_is_after_the_library() -> None:
    assert auto.RANK > policy_named("library").RANK
