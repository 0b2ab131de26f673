"""A row that is wholly masked gives zeros: in the reference, and however a machine cuts and merges it."""

from __future__ import annotations

from dataclasses import replace
from math import exp, inf

import numpy as np
import pytest

import gpu_model
import rdu_model
from patterns.evaluate import evaluate
from patterns.graph import Graph
from patterns.numbers.execute import execute
from patterns.plan import Plan, Tile, Tiling
from patterns.read import parse_graph

ADDED = """
name: added_mask
extents: {rows: 2, keys: 2, width: 1}
tensors:
  scores: {dims: [rows, keys], dtype: fp32, role: input}
  mask:   {dims: [rows, keys], dtype: fp32, role: input}
  values: {dims: [keys, width], dtype: fp32, role: input}
  y:      {dims: [rows, width], dtype: fp32, role: output}
nodes:
  masked:  {kind: zip,    fn: add, reads: [scores, mask]}
  top:     {kind: reduce, fn: max, reads: [masked], over: [keys]}
  shifted: {kind: zip,    fn: sub, reads: [masked, top]}
  e:       {kind: map,    fn: exp, reads: [shifted]}
  total:   {kind: reduce, fn: sum, reads: [e], over: [keys]}
  p:       {kind: zip,    fn: div, reads: [e, total]}
  y:       {kind: mm,     reads: [p, values], over: [keys]}
"""
GRAPH = parse_graph(ADDED)
ARRAYS = {
    "scores": np.array([[0.5, 1.0], [7.0, -3.0]]),
    "mask": np.array([[0.0, 0.0], [-inf, -inf]]),
    "values": np.array([[1.0], [3.0]]),
}
# Row 0 by hand; row 1 has nothing.
EXPECTED = [[(exp(0.5) + 3 * exp(1.0)) / (exp(0.5) + exp(1.0))], [0.0]]

CAUSAL = """
name: causal
extents: {rows: 3, keys: 5}
tensors:
  scores:    {dims: [rows, keys], dtype: fp32, role: input}
  positions: {dims: [rows], dtype: int32, role: input}
  slots:     {dims: [keys], dtype: int32, role: input}
nodes:
  masked:  {kind: zip,    fn: causal, reads: [scores, positions, slots]}
  top:     {kind: reduce, fn: max, reads: [masked], over: [keys]}
  shifted: {kind: zip,    fn: sub, reads: [masked, top]}
  e:       {kind: map,    fn: exp, reads: [shifted]}
  total:   {kind: reduce, fn: sum, reads: [e], over: [keys]}
  p:       {kind: zip,    fn: div, reads: [e, total]}
"""


def test_the_reference_gives_zeros() -> None:
    found = evaluate(GRAPH, ARRAYS)["y"]
    np.testing.assert_allclose(found, EXPECTED, rtol=1e-15)
    assert found[0, 0] == pytest.approx(2.2449, abs=5e-5)


def plans() -> dict[str, Plan]:
    gpu, rdu = gpu_model.load_machine("h100_sxm"), rdu_model.load_machine("sn40l")
    made = {policy: gpu_model.lower(GRAPH, gpu, policy=policy) for policy in gpu_model.policy_names()}
    return made | {mode: rdu_model.lower(GRAPH, rdu, mode=mode) for mode in rdu_model.mode_names()}


@pytest.mark.parametrize("rounding", [None, gpu_model.rounded_results, rdu_model.rounded_results])
def test_every_machine_gives_zeros(rounding: object) -> None:
    for name, plan in plans().items():
        found = execute(plan, ARRAYS, rounding=rounding)["y"]  # type: ignore[arg-type]
        np.testing.assert_allclose(found, EXPECTED, rtol=1e-6, err_msg=name)


def fused(graph: Graph) -> Plan:
    """One call of all nodes, as a policy makes it, for tilings of our own."""
    plan = gpu_model.lower(graph, gpu_model.load_machine("h100_sxm"), policy="library")
    return replace(plan, calls=(replace(plan.calls[0], nodes=tuple(node.name for _, node in graph.nodes())),))


@pytest.mark.parametrize("keys", [1, 2])
def test_parts_that_are_wholly_masked_weigh_nothing(keys: int) -> None:
    # In the second row both parts are masked, in the third only one of them.
    graph = parse_graph(ADDED.replace("rows: 2", "rows: 3"))
    arrays = {
        **ARRAYS,
        "scores": np.array([[0.5, 1.0], [7.0, -3.0], [2.0, 9.0]]),
        "mask": np.array([[0.0, 0.0], [-inf, -inf], [0.0, -inf]]),
    }
    (call,) = fused(graph).calls
    split = replace(call, tiling=Tiling((Tile("rows", 2),), (("keys", keys),)))
    merge = replace(call, name="merge", nodes=(), tiling=Tiling(), combines=call.name)
    found = execute(replace(fused(graph), calls=(split, merge)), arrays)["y"]
    np.testing.assert_allclose(found, [*EXPECTED, [1.0]], rtol=1e-15)


def test_queries_before_all_keys_see_nothing() -> None:
    graph = parse_graph(CAUSAL)
    arrays = {"scores": np.ones((3, 5)), "positions": np.array([-1, 1, 9]), "slots": np.arange(5)}
    found = evaluate(graph, arrays)["p"]
    np.testing.assert_allclose(found, [[0] * 5, [0.5, 0.5, 0, 0, 0], [0.2] * 5], rtol=1e-15)


def test_a_finite_mask_is_a_number_like_any_other() -> None:
    found = evaluate(GRAPH, {**ARRAYS, "mask": np.array([[0.0, 0.0], [-1e30, -1e30]])})["y"]
    assert found[1, 0] == 2.0


def test_other_cases_that_are_no_number_stay_so() -> None:
    arrays = {**ARRAYS, "scores": np.array([[np.nan, 1.0], [inf, inf]]), "mask": np.zeros((2, 2))}
    found = evaluate(GRAPH, arrays)["y"]
    assert np.isnan(found).all()
