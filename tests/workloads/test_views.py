"""Views of a tensor: read in place they move nothing; written as a tensor of their own, a read and a write, once."""

from __future__ import annotations

import pytest

import gpu_model
import rdu_model
from patterns.graph import Graph
from patterns.plan import Plan
from patterns.read import parse_graph

# x, turned, is 4096 x 4096 in fp16.
ONCE = 4096 * 4096 * 2
TURNED = """
name: turned
extents: {rows: 4096, columns: 4096, width: 64, lookups: 100, outer: 64, inner: 64}
tensors:
  x:   {dims: [columns, rows], dtype: fp16, role: input}
  w:   {dims: [columns, width], dtype: fp16, role: weight}
  ids: {dims: [lookups], dtype: int32, role: input}
nodes:
  t: {kind: buffer, fn: permute, reads: [x], order: rows columns}
"""
PRODUCT = "  y: {kind: mm, reads: [t, w]}\n"
VIEW_OF_VIEW = """
  u: {kind: buffer, fn: split, reads: [t], along: rows, to: outer inner}
  y: {kind: mm, reads: [u, w]}
"""
LOOKUP = "  y: {kind: gather, reads: [t, ids], along: rows}\n"
LOOKUPS = LOOKUP + "  z: {kind: gather, reads: [t, ids], along: rows}\n"


def turned(readers: str) -> Graph:
    return parse_graph(TURNED + readers)


def on_gpu(graph: Graph, policy: str) -> Plan:
    return gpu_model.lower(graph, gpu_model.load_machine("h100_sxm"), policy=policy)


@pytest.mark.parametrize(("readers", "nodes"), [(PRODUCT, ("t", "y")), (VIEW_OF_VIEW, ("t", "u", "y"))])
def test_a_view_that_a_product_reads_in_place_moves_nothing(readers: str, nodes: tuple[str, ...]) -> None:
    graph = turned(readers)
    operands = ONCE + 2 * 4096 * 64 * 2
    machine = rdu_model.load_machine("sn40l")
    for plan in (on_gpu(graph, "operator"), rdu_model.lower(graph, machine, mode="fused")):
        assert [call.nodes for call in plan.calls] == [nodes]
        assert dict(plan.calls[0].traffic)["hbm"] == operands


@pytest.mark.parametrize(("readers", "others"), [(LOOKUP, 1), (LOOKUPS, 2)])
def test_rows_that_are_looked_up_in_a_view_need_it_written_once(readers: str, others: int) -> None:
    """A read and a write of all of it, 67,108,864 bytes, however many lookups there are; these move their rows."""
    # What was just written is found in the L2: of a lookup, results pass the memory, and the indices once.
    rows, indices = 100 * 4096 * 2, 100 * 4
    first, *rest = on_gpu(turned(readers), "auto").calls
    assert (first.nodes, dict(first.traffic)["hbm"]) == (("t",), 67_108_864)
    assert sum(dict(call.traffic)["hbm"] for call in rest) == others * rows + indices
    assert "t" not in {name for call in rest for name in call.nodes}
