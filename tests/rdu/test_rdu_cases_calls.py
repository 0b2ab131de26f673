"""A chain of ten operators that all fit: ten calls one by one, one call fused, and what that saves."""

from __future__ import annotations

from patterns.count import compulsory
from patterns.read import parse_graph
from patterns.run import run_plan
from patterns.summarize import summarize
from rdu_model import load_machine, lower

OPS = 10
TENSOR_BYTES = 4096 * 4096 * 2
CHAIN = """
name: decoder
extents: {rows: 4096, columns: 4096}
tensors:
  x: {dims: [rows, columns], dtype: bf16, role: input}
  n9: {dims: [rows, columns], dtype: bf16, role: output}
nodes:
""" + "".join(f"  n{i}: {{kind: map, fn: square, reads: [{f'n{i - 1}' if i else 'x'}]}}\n" for i in range(OPS))


def test_calls_and_intermediates_of_a_chain() -> None:
    graph, machine = parse_graph(CHAIN), load_machine("sn40l")
    reports = {mode: summarize(run_plan(lower(graph, machine, mode=mode))) for mode in ("unfused", "fused")}
    assert (reports["unfused"].calls, reports["fused"].calls) == (OPS, 1)
    moved = {mode: dict(report.bytes)["hbm"] for mode, report in reports.items()}
    assert moved["fused"] == compulsory(graph).total_bytes == 2 * TENSOR_BYTES
    # Nine intermediates are written and read.
    assert moved["unfused"] - moved["fused"] == 2 * (OPS - 1) * TENSOR_BYTES
    fused = lower(graph, machine, mode="fused").calls[0]
    assert "PCUs" in fused.reason
    assert reports["fused"].time_ps < reports["unfused"].time_ps
