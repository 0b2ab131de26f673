"""Steps that wait for one another: an LSTM by hand, and products side by side only where none needs another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpu_model
import rdu_model
from patterns.count import graph_demand
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.library import workload
from patterns.numbers.execute import execute
from patterns.read import parse_graph

H100 = gpu_model.load_machine("h100_sxm")
SMALL = {"steps": "4", "batch": "2", "inputs": "5", "unit": "3"}


def small() -> tuple[Graph, dict[str, Any]]:
    graph = workload("lstm", overrides=SMALL)
    arrays = random_arrays(graph, 1)
    return graph, arrays | {"start": np.array(0)}


def test_numbers_are_those_of_the_cell() -> None:
    graph, a = small()
    sigmoid = lambda x: 1 / (1 + np.exp(-x))  # noqa: E731
    h, c, outputs = a["h_start"], a["c_start"], []
    for x in a["x"]:
        i, f, g, o = (x @ a[f"w_{gate}"] + h @ a[f"r_{gate}"] + a[f"bias_{gate}"] for gate in "ifgo")
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        outputs.append(h)
    np.testing.assert_allclose(evaluate(graph, a)["outputs"], np.stack(outputs), rtol=1e-9)


def test_the_machines_give_its_numbers() -> None:
    graph, arrays = small()
    plans = [gpu_model.lower(graph, H100, policy=policy) for policy in ("library", "epilogue")]
    plans.append(rdu_model.lower(graph, rdu_model.load_machine("sn40l"), mode="looped"))
    for plan in plans:
        found = execute(plan, arrays)
        for name, expected in evaluate(graph, arrays).items():
            np.testing.assert_allclose(found[name], expected, rtol=1e-9, atol=1e-12, err_msg=name)


def test_work_is_eight_products_a_step() -> None:
    assert graph_demand(workload("lstm")).matrix_flops == 100 * 8 * 2 * 64 * 512 * 512


def test_four_products_of_a_step_are_one_kernel_and_steps_are_not() -> None:
    calls = gpu_model.lower(workload("lstm"), H100, policy="library").calls
    products = [call.nodes for call in calls if {"h_i", "x_i"} & {*call.nodes}]
    assert [{*nodes} - {"h_old"} for nodes in products] == [{"x_i", "x_f", "x_g", "x_o"}, {"h_i", "h_f", "h_g", "h_o"}]
    assert [call.count for call in calls if "h_i" in call.nodes] == [100]


def products(nodes: str, weights: str) -> list[set[str]]:
    """The kernels that `library` makes of products of one shape, by their names."""
    lines = "".join(f"  {line.strip()}\n" for line in nodes.strip().splitlines())
    made = "".join(f"  {name}: {{dims: [n, m], dtype: bf16, role: weight}}\n" for name in weights.split())
    text = "name: steps\nextents: {b: 8, n: 64, m: 64}\ntensors:\n  x: {dims: [b, n], dtype: bf16, role: input}\n"
    graph = parse_graph(f"{text}{made}nodes:\n{lines}", "steps.yaml")
    calls = gpu_model.lower(graph, H100, policy="library").calls
    by_kind = {node.name for _, node in graph.nodes() if node.kind == "mm"}
    return [found for call in calls if (found := by_kind & {*call.nodes})]


def test_dependent_steps_are_never_side_by_side() -> None:
    """Eight products of one shape with one weight, each of the one before: eight kernels."""
    lines = []
    for t in range(8):
        source = f"s{t - 1}" if t else "x"
        lines += [f"p{t}: {{kind: mm, reads: [{source}, w], over: [n]}}"]
        lines += [f"s{t}: {{kind: buffer, fn: slice, reads: [p{t}], along: m, start: 0, to: n}}"]
    assert products("\n".join(lines), "w") == [{f"p{t}"} for t in range(8)]


@pytest.mark.parametrize("weights", ["w w w w w w", "u0 u1 u2 v0 v1 v2"])
def test_independent_products_are_side_by_side_in_their_sets(weights: str) -> None:
    """Three products of one tensor, what joins them, and three products of that: two kernels, not one and not six."""
    first, last = weights.split()[:3], weights.split()[3:]
    lines = ["n1: {kind: map, fn: tanh, reads: [x]}"]
    lines += [f"a{k}: {{kind: mm, reads: [n1, {w}], over: [n]}}" for k, w in enumerate(first)]
    lines += ["t: {kind: zip, fn: add, reads: [a0, a1]}", "u: {kind: zip, fn: add, reads: [t, a2]}"]
    lines += ["n2: {kind: buffer, fn: slice, reads: [u], along: m, start: 0, to: n}"]
    lines += [f"b{k}: {{kind: mm, reads: [n2, {w}], over: [n]}}" for k, w in enumerate(last)]
    made = products("\n".join(lines), " ".join(dict.fromkeys(weights.split())))
    assert made == [{"a0", "a1", "a2"}, {"b0", "b1", "b2"}]
