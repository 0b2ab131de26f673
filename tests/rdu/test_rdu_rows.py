"""Rows that are looked up, parts that are sliced, and results that are handed on under odd names."""

from __future__ import annotations

import pytest

from patterns.count import compulsory
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.numbers.execute import execute
from patterns.plan import Plan
from patterns.read import parse_graph
from patterns.run import run_plan
from patterns.summarize import summarize
from rdu_model import load_machine, lower, mode_names
from rdu_model.ask import ask
from rdu_model.tiles.nests import runs

TENSORS = """
name: rows
extents: {rows: 50, width: 4, picks: 23, part: 20, one: 1}
tensors:
  table: {dims: [rows, width], dtype: fp32, role: weight}
  x: {dims: [rows], dtype: fp32, role: input}
  y: {dims: [rows], dtype: fp32, role: input}
  flat: {dims: [part], dtype: fp32, role: weight}
  ids: {dims: [picks], dtype: int32, role: input}
  others: {dims: [picks], dtype: int32, role: input}
  lines: {dims: [picks], dtype: fp32, role: input}
"""
# Blocks, and the bytes of all that a run reads of the table, of flat and of x.
BLOCKS = {
    "rows by tiles of the index": ("nodes: {z: {kind: gather, reads: [table, ids], along: rows}}", 23 * 16),
    "more rows than there are": ("nodes: {z: {kind: gather, reads: [flat, ids], along: part}}", 80),
    "rows by two indices": (
        "nodes: {z: {kind: gather, reads: [table, ids], along: rows}, v: {kind: gather, reads: [table, others], "
        "along: rows}}",
        2 * 23 * 16,
    ),
    "two parts": (
        "nodes: {z: {kind: buffer, fn: slice, reads: [x], along: rows, to: part},\n"
        "      v: {kind: buffer, fn: slice, reads: [x], along: rows, start: 30, to: part}}",
        2 * 80,
    ),
    "a copy with rows added": ("nodes: {z: {kind: scatter, fn: add, reads: [x, ids, lines], along: rows}}", 200),
    "the same rows in every execution": (
        "count: 3\n    nodes: {z: {kind: gather, reads: [table, ids], along: rows}}",
        23 * 16,
    ),
    "other rows in every execution": (
        "count: 3\n    tensors: {own: {dims: [one], dtype: int32, role: weight}}\n"
        "    nodes: {z: {kind: gather, reads: [table, own], along: rows}}",
        3 * 16,
    ),
}
CARRIED = {
    "a buffer hands on": "carried: {x: v}\n    nodes: {v: {kind: buffer, fn: roll, reads: [x], along: rows, by: 1}}",
    "under two names": "carried: {x: v, y: v}\n    nodes: {v: {kind: zip, fn: add, reads: [x, y]}}",
}


def check(graph: Graph, machine: str, mode: str) -> Plan:
    plan = lower(graph, load_machine(machine), mode=mode)
    summarize(run_plan(plan))
    arrays = random_arrays(graph, 1)
    found = execute(plan, arrays)
    for name, expected in evaluate(graph, arrays).items():
        assert found[name] == pytest.approx(expected), name
    return plan


@pytest.mark.parametrize("mode", mode_names())
@pytest.mark.parametrize("machine", ["unit", "sn40l"])
@pytest.mark.parametrize("case", BLOCKS)
def test_what_is_looked_up_or_cut_is_read_once(case: str, machine: str, mode: str) -> None:
    block, read_bytes = BLOCKS[case]
    graph = parse_graph(f"{TENSORS}blocks:\n  body:\n    {block}\n")
    plan = check(graph, machine, mode)
    moved = sum(dict(call.traffic)["hbm"] * call.count for call in plan.calls)
    must = compulsory(graph)
    assert moved >= must.total_bytes
    assert must.weight_bytes + must.gathered_bytes + must.input_bytes >= read_bytes
    if mode == "looped":
        assert moved == must.total_bytes


def test_what_is_looked_up_in_a_table_waits_for_all_of_it() -> None:
    """The table is made by tiles of the dim along which it is looked up: no step of that loop has all it may need."""
    nodes = """nodes:
      t: {kind: map, fn: exp, reads: [x]}
      r: {kind: scatter, fn: add, reads: [t, at, y], along: rows}"""
    tensors = TENSORS + "  at: {dims: [rows], dtype: int32, role: input}\n"
    graph = parse_graph(f"{tensors}blocks:\n  body:\n    {nodes}\n")
    made, scattered = (ask(graph, node) for node in graph.blocks[0].nodes)
    first, *_ = runs([made, scattered], "rows")
    assert (first.before, first.nodes, first.after) == ((), (made,), (scattered,))


@pytest.mark.parametrize("case", CARRIED)
def test_results_are_handed_on(case: str) -> None:
    graph = parse_graph(f"{TENSORS}blocks:\n  body:\n    count: 3\n    {CARRIED[case]}\n")
    (call,) = check(graph, "unit", "looped").calls
    assert call.iterations == 3
