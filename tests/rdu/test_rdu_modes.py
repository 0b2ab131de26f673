"""The mode `operator`: which nodes are one call, and that every call finds what it reads."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patterns.graph import Block, Graph
from patterns.kind import has
from patterns.library import workload
from patterns.read import parse_graph
from rdu_model import load_machine, lower, mode_names
from rdu_model.orchestrate import Intended, mode_named
from rdu_model.schedules.operator import operators, stands_alone
from tests.random_graphs import random_graph

LLAMA = workload("llama-3.1-8b", context=512, members=8)
FORKED = """
name: forked
extents: {m: 8, n: 8}
tensors:
  x: {dims: [m], dtype: fp32, role: input}
  w: {dims: [m, n], dtype: fp32, role: weight}
  z: {dims: [m, n], dtype: fp32, role: output}
nodes:
  early:  {kind: map, fn: abs, reads: [x]}
  squared: {kind: map, fn: square, reads: [early]}
  apart:  {kind: map, fn: abs, reads: [w]}
  product: {kind: mm, reads: [squared, apart], over: []}
  late:   {kind: zip, fn: add, reads: [early, x]}
  z:      {kind: zip, fn: add, reads: [product, late]}
"""


OVERWRITTEN = """
name: overwritten
extents: {rows: 8, n: 8, k: 8, new: 2}
tensors:
  cache: {dims: [rows, n], dtype: fp32, role: state}
  x:     {dims: [k], dtype: fp32, role: input}
  w:     {dims: [k, n], dtype: fp32, role: weight}
  at:    {dims: [new], dtype: int32, role: input}
  fresh: {dims: [new, n], dtype: fp32, role: input}
  old:   {dims: [rows], dtype: fp32, role: output}
nodes:
  turned:  {kind: mm, reads: [x, w], over: [k]}
  scaled:  {kind: zip, fn: mul, reads: [cache, turned]}
  old:     {kind: reduce, fn: sum, reads: [scaled], over: [n]}
  written: {kind: scatter, fn: set, reads: [cache, at, fresh], along: rows}
"""


def calls_of(graph: Graph) -> tuple[Intended, ...]:
    return mode_named("operator").calls(graph)


def check_order(graph: Graph, block: Block, groups: list[tuple[str, ...]]) -> None:
    """Every node once, and each group after those that it reads from."""
    node_named = {node.name: node for node in block.nodes}
    makers = {node.writes: node.name for node in block.nodes}
    assert sorted(name for group in groups for name in group) == sorted(node_named)
    place_of = {node.name: place for place, node in enumerate(block.nodes)}
    assert all(list(group) == sorted(group, key=place_of.__getitem__) for group in groups)
    number = {name: place for place, group in enumerate(groups) for name in group}
    for place, node in enumerate(block.nodes):
        for read in node.reads:
            if read in makers:
                assert number[makers[read]] <= number[node.name]
        overwritten = node.reads[0] if graph.tensor_named[node.writes].shares else ""
        for earlier in block.nodes[:place]:
            # One call may read a state and store over it, in that order.
            assert overwritten not in earlier.reads or number[earlier.name] <= number[node.name]


def test_a_decoder_layer_is_nineteen_operators() -> None:
    block = next(block for block in LLAMA.blocks if block.count == 32)
    found = list(operators(LLAMA, block))
    assert len(found) == 19
    assert ("scaled", "masked", "top", "shifted", "exponentials", "total", "probabilities") in found
    assert ("activated", "gated") in found
    # The residual is an operator with the norm behind it, but not with that before the attention.
    assert next(group for group in found if "middle" in group)[:2] == ("middle", "ffn_squares")
    assert all(len(group) == 1 for group in found if group[0] in ("q", "k_written", "o_sum"))


def test_between_two_nodes_of_an_operator_nothing_stands_alone() -> None:
    graph = parse_graph(FORKED)
    (block,) = graph.blocks
    found = list(operators(graph, block))
    assert found == [("early", "squared", "late"), ("apart",), ("product",), ("z",)]
    check_order(graph, block, found)


def test_rows_are_read_before_they_are_overwritten() -> None:
    graph = parse_graph(OVERWRITTEN)
    assert list(operators(graph, graph.blocks[0]))[-1] == ("written",)


@given(st.integers(0, 10**6))
@settings(max_examples=150, deadline=None)
def test_every_node_is_in_one_operator_and_finds_what_it_reads(seed: int) -> None:
    graph = random_graph(Random(seed))
    for block in graph.blocks:
        groups = list(operators(graph, block))
        check_order(graph, block, groups)
        alone = {node.name for node in block.nodes if stands_alone(node)}
        assert all(len(group) == 1 for group in groups if alone & set(group))


@pytest.mark.parametrize("orchestration", ["hardware", "software"])
def test_modes_have_fewer_calls_the_more_they_fuse(orchestration: str) -> None:
    plans = [lower(LLAMA, load_machine("sn40l"), mode=m, members=8, orchestration=orchestration) for m in mode_names()]
    counts = [sum(call.count for call in plan.calls) for plan in plans]
    assert counts[1:] == [3 + 32 * 19 + 3, 34, 3]
    assert all(fewer < more for more, fewer in pairwise(counts))


def test_a_contraction_is_found_by_its_trait() -> None:
    nodes = [node for one in calls_of(LLAMA) for node in one.block.nodes if node.name in one.nodes]
    assert len(nodes) == sum(len(block.nodes) for block in LLAMA.blocks)
    singles = [one for one in calls_of(LLAMA) if len(one.nodes) == 1]
    contractions = [node.name for _, node in LLAMA.nodes() if has(node, "contracts")]
    assert set(contractions) <= {one.nodes[0] for one in singles}
