"""The laws of the whole way, on random graphs: numbers, bounds, sums, counts and bytes, on both machines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, note, settings
from hypothesis import strategies as st

from patterns.count import compulsory, node_demand
from patterns.counting.needed import needed_demand
from patterns.errors import Deadlock, UserError
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.kind import has
from patterns.numbers.execute import execute
from patterns.pipeline.bounds import lower_bound
from patterns.pipeline.overlap import account
from patterns.pipeline.simulate import simulate
from patterns.pipeline.uses import flat_ops
from patterns.pipeline.waterfall import explain
from patterns.plan import Plan, Resource
from patterns.read import parse_graph
from patterns.run import run_plan
from patterns.summarize import summarize
from patterns.write import write_graph
from tests.random_graphs import random_graph
from tests.random_ways import MACHINES, Way, fusions, odd_way

# Machines for each graph: over all graphs every one has its turn, with every policy.
OF_MACHINES = 4
# Ops that may be simulated one by one.
MOST_OPS = 20_000
RANDOM = st.randoms(use_true_random=False)
# Without shrinking, which takes minutes: a failure shows its graph.
PHASES = (Phase.explicit, Phase.generate)


@dataclass(frozen=True)
class Numbers:
    """Arrays for a graph and what it makes of them; many indices may be repeated."""

    arrays: Mapping[str, Any]
    expected: Mapping[str, Any]


def numbers(graph: Graph, *, repeated: bool) -> Numbers:
    arrays = random_arrays(graph, 1)
    if repeated:
        arrays = {name: array % 2 if array.dtype.kind in "iu" else array for name, array in arrays.items()}
    return Numbers(arrays, evaluate(graph, arrays))


def check_numbers(plan: Plan, of: Numbers) -> None:
    """The plan computes what its graph says."""
    found = execute(plan, of.arrays)
    assert found.keys() == of.expected.keys()
    for name, array in of.expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-8, atol=1e-8, err_msg=name)


def check_run(plan: Plan) -> None:
    """Run a plan: its bounds, its sums, the same again, and the same without spans."""
    execution = run_plan(plan)
    report = summarize(execution)
    assert report == summarize(run_plan(plan))
    assert report.time_ps >= report.bound_ps >= 0
    for parts in (report.overlap_ps, report.waterfall_ps):
        assert sum(amount for _, amount in parts) == report.time_ps
        assert min(amount for _, amount in parts) >= 0
    assert all(0 <= share <= 1 + 1e-9 for _, share in report.utilization), report.utilization
    for call, run in zip(plan.calls, execution.calls, strict=True):
        assert run.timeline.total_cycles >= lower_bound(call.program).cycles
    assert report.time_ps == execution.schedule.total_cycles >= lower_bound(execution.schedule_program).cycles
    bare = run_plan(plan, spans=False)
    assert bare.schedule.total_cycles == report.time_ps
    for run, same in zip(execution.calls, bare.calls, strict=True):
        assert run.duration_ps == same.duration_ps
        for name in ("total_cycles", "busy", "counters"):
            assert getattr(run.timeline, name) == getattr(same.timeline, name), (run.name, name)


def check_jump(plan: Plan) -> None:
    """Every call that is short enough, simulated op by op."""
    for program in {call.program for call in plan.calls}:
        if sum(times for role in program.roles for _, times in flat_ops(role.script)) > MOST_OPS:
            continue
        jumped, full = simulate(program), simulate(program, jump=False)
        for name in ("total_cycles", "busy", "stalls", "counters"):
            assert getattr(jumped, name) == getattr(full, name), (program.name, name)
        assert account(program, jumped) == account(program, full)
        assert explain(program, jumped) == explain(program, full)


def total(plan: Plan, resource: Resource) -> int:
    """Work of all launches."""
    return sum(dict(call.work).get(resource, 0) * call.count for call in plan.calls)


def check_work(plan: Plan) -> None:
    """Nothing is left out: work is at least what the graph needs, and bytes at least those that must move."""
    demand = needed_demand(plan.graph)
    for resource in ("matrix_flops", "vector_ops", "special_ops"):
        assert total(plan, resource) >= getattr(demand, resource)
    moved = {
        level: sum(dict(call.traffic).get(level, 0) * call.count for call in plan.calls) for level in ("hbm", "ddr")
    }
    assert (total(plan, "hbm_bytes"), total(plan, "ddr_bytes")) == tuple(moved.values())
    assert sum(moved.values()) >= compulsory(plan.graph).total_bytes - plan.kept_bytes
    assert not moved["hbm"] or plan.rates.off_chip == "hbm_bytes"
    if plan.mode in ("pattern", "unfused"):
        check_exact_tiles(plan)


def check_exact_tiles(plan: Plan) -> None:
    """Where tiles divide extents, a call of one node does the node's work and no more."""
    nodes, sizes = {node.name: node for _, node in plan.graph.nodes()}, plan.graph.sizes
    for call in plan.calls:
        if call.combines:
            continue  # only adds up what another call has made
        (name,) = call.nodes
        levels = [call.tiling, *(nest.tiling for nest in call.tiling.nests)]
        if any(sizes[tile.dim] % tile.extent for level in levels for tile in level.loops):
            continue
        demand, work = node_demand(plan.graph, nodes[name]), dict(call.work)
        assert work.get("special_ops", 0) == demand.special_ops, name
        if has(nodes[name], "carries"):  # in parts side by side it is more
            assert work.get("vector_ops", 0) >= demand.vector_ops, name
        elif not has(nodes[name], "contracts"):
            assert work.get("vector_ops", 0) == demand.vector_ops, name


def check_counts(plans: list[Plan]) -> None:
    """Of one machine, from the way that fuses least: a call for each node, then never more calls.

    `auto` joins what is predicted to pay, so it may launch more than a policy by rules does. Kernels that put parts
    together are no nodes' own.
    """
    blocks = plans[0].graph.block_named
    launches = [sum(c.count for c in plan.calls if not c.combines) for plan in plans if plan.mode != "auto"]
    assert launches[0] == sum(block.count * len(block.nodes) for block in blocks.values())
    assert launches == sorted(launches, reverse=True)
    for plan in plans:
        assert len({call.name for call in plan.calls}) == len(plan.calls)
        ran = sorted(name for call in plan.calls for name in call.nodes)
        assert ran == sorted(node.name for block in blocks.values() for node in block.nodes)
        # A call that spans blocks runs each of them to its end.
        times = [(call.count * call.iterations, blocks[call.block].count if call.block else 1) for call in plan.calls]
        assert all(launched == count for launched, count in times)


def check(way: Way, graph: Graph, *numbers_of: Numbers) -> Plan:
    """All laws of one way. Raises UserError where the machine refuses."""
    plan = way.lower(graph)
    assert plan == way.lower(graph)
    for of in numbers_of:
        check_numbers(plan, of)
    check_work(plan)
    check_run(plan)
    return plan


def check_all(graph: Graph, machines: Iterable[tuple[str, str]], *, repeated: Iterable[bool]) -> None:
    """All laws in every way of some machines, and numbers with and without repeated indices as asked."""
    of = [numbers(graph, repeated=one) for one in repeated]
    for family, machine in machines:
        plans = [check(way, graph, *of) for way in fusions(family, machine)]
        check_counts(plans)
        check_jump(plans[-1])


@settings(max_examples=10, derandomize=True, phases=PHASES)
@given(RANDOM)
def test_any_graph_obeys_the_laws_in_every_way(random: Random) -> None:
    graph = random_graph(random)
    note(write_graph(graph))
    assert parse_graph(write_graph(graph)) == graph
    check_all(graph, random.sample(MACHINES, OF_MACHINES), repeated=[random.random() < 0.3])


@settings(max_examples=10, derandomize=True, phases=PHASES)
@given(RANDOM)
def test_any_machine_obeys_the_laws_or_refuses_in_words(random: Random) -> None:
    graph = random_graph(random)
    note(write_graph(graph))
    of = numbers(graph, repeated=random.random() < 0.3)
    for family, machine in MACHINES:
        why = "ran"
        try:
            check_jump(check(odd_way(random, family, machine), graph, of))
        except Deadlock:
            raise
        except UserError as error:
            why = str(error).strip()
        assert why


HEAD = """
name: found
extents: {a: 11, d: 3, p: 9, alone: 1}
tensors:
  x: {dims: [d, p], dtype: bf16, role: input}
  at: {dims: [d, p], dtype: int32, role: input}
  line: {dims: [a], dtype: fp32, role: input}
  z: {dims: [d, p, a], dtype: fp32, role: input}
blocks:
"""
# Graphs that broke a law once: blocks after these tensors.
FOUND = {
    "rows are scattered from dims that the reader has again": """\
  only:
    nodes:
      r: {kind: scatter, fn: set, reads: [line, at, x], along: a}
      y: {kind: zip, fn: min, reads: [r, z]}
""",
    "a copy for a group of one is carried": """\
  first:
    count: 3
    carried: {x: s}
    nodes: {s: {kind: all_reduce, reads: [x], along: alone}}
  last:
    nodes: {y: {kind: map, fn: neg, reads: [s]}}
""",
}


@pytest.mark.parametrize("name", FOUND)
def test_a_graph_that_broke_a_law_once_obeys_all(name: str) -> None:
    check_all(parse_graph(HEAD + FOUND[name], name), MACHINES, repeated=(False, True))


TWO_WAYS = """
name: two_ways
extents: {{rows: 512, columns: 1024}}
tensors:
  x: {{dims: [rows, columns], dtype: bf16, role: input}}
  z: {{dims: [rows, columns], dtype: bf16, role: input}}
nodes:
  {}
  {}
  y: {{kind: zip, fn: add, reads: [p, q]}}
"""
NODES = ("p: {kind: map, fn: exp, reads: [x]}", "q: {kind: map, fn: relu, reads: [z]}")


@pytest.mark.parametrize(("family", "machine"), [("gpu", "h100_sxm"), ("rdu", "sn40l")])
def test_the_order_of_independent_nodes_changes_no_time(family: str, machine: str) -> None:
    both = [parse_graph(TWO_WAYS.format(*nodes), "two_ways.yaml") for nodes in (NODES, NODES[::-1])]
    for way in fusions(family, machine):
        one, other = (summarize(run_plan(way.lower(graph))) for graph in both)
        assert (one.time_ps, one.bytes, one.waterfall_ps) == (other.time_ps, other.bytes, other.waterfall_ps), way
        assert sorted(one.overlap_ps) == sorted(other.overlap_ps)
