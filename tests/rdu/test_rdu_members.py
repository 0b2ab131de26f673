"""Random graphs that sum over several sockets: the numbers, the bounds and the exact simulation, in every way."""

from __future__ import annotations

import json
from random import Random

import numpy as np
import pytest

from patterns.errors import SpecError
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.kind import has
from patterns.numbers.execute import execute
from patterns.pipeline.bounds import lower_bound
from patterns.pipeline.simulate import simulate
from patterns.plan import Plan
from patterns.read import parse_graph
from patterns.run import run_plan
from patterns.summarize import summarize
from rdu_model import load_machine, lower
from rdu_model.orchestrate import mode_names
from tests.random_graphs import random_data

ODD = {
    "link_latency_ps": ("0 s", "1 ns", "17 ns", "1 us"),
    "node_link_latency_ps": ("0 s", "5 ns"),
    "node_sockets": ("1", "2", "3"),
    "all_reduce": ("ring", "direct"),
    "prefetch_bytes": ("0 B", "5 kB"),
}


def random_sums(random: Random, members: int) -> Graph:
    """A random graph, half of whose maps are sums over so many members instead."""
    while True:
        data = random_data(random)
        data["extents"]["alone"] = members
        for block in data["blocks"].values():
            for node in block["nodes"].values():
                if node["kind"] == "map" and random.random() < 0.5:
                    reads = node["reads"]
                    node.clear()
                    node.update({"kind": "all_reduce", "reads": reads, "along": "alone"})
        try:
            graph = parse_graph(json.dumps(data))
        except SpecError:
            # A map may have made another type, which is missed.
            continue
        if any(has(node, "communicates") for _, node in graph.nodes()):
            return graph


def check(plan: Plan, graph: Graph, members: int) -> None:
    arrays = random_arrays(graph, 1, members)
    found, expected = execute(plan, arrays), evaluate(graph, arrays, members)
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-7, atol=1e-7, err_msg=name)
    execution = run_plan(plan)
    assert summarize(execution).time_ps >= summarize(execution).bound_ps
    for call, run in zip(plan.calls, execution.calls, strict=True):
        assert run.timeline.total_cycles >= lower_bound(call.program).cycles
        assert run.timeline.total_cycles == simulate(call.program, jump=False).total_cycles


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(12))
def test_any_graph_that_sums_over_members_gives_its_numbers(seed: int) -> None:
    random = Random(seed)
    members = random.choice([2, 3, 4])
    graph = random_sums(random, members)
    odd = {name: random.choice(values) for name, values in ODD.items()}
    machine = load_machine(random.choice(["sn40l", "unit", "sn30"]), odd)
    for mode in mode_names():
        for how in ("overlapped", "separate"):
            check(lower(graph, machine, mode=mode, members=members, collectives=how), graph, members)
