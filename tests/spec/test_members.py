"""A sum over a group of one is taken out where that changes nothing, and stays where it is a copy that is needed."""

from __future__ import annotations

import json
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patterns.evaluate import evaluate, random_arrays
from patterns.read import parse_graph
from patterns.write import write_graph
from tests.random_graphs import random_data
from tests.random_nodes import Data

HEAD = """
name: alone
extents: {rows: 3, group: 1}
tensors:
  x: {dims: [rows], dtype: bf16, role: input}
  cache: {dims: [rows], dtype: bf16, role: state}
  at: {dims: [], dtype: int32, role: input}
  one: {dims: [], dtype: bf16, role: input}
blocks:
  first:
    nodes: {e: {kind: map, fn: exp, reads: [x]}}
"""
# Blocks after these, and whether the node `sum` is taken out of them.
CASES = {
    "what is read in its block": (
        True,
        "nodes: {sum: {kind: all_reduce, reads: [x], along: group}, z: {kind: map, fn: neg, reads: [sum]}}",
    ),
    "a block of nothing else": (False, "nodes: {sum: {kind: all_reduce, reads: [e], along: group}}"),
    "what is carried, of an input": (
        False,
        "count: 2\n    carried: {x: sum}\n    nodes: {sum: {kind: all_reduce, reads: [x], along: group}}",
    ),
    "what is carried, made here": (
        True,
        "count: 2\n    carried: {x: sum}\n"
        "    nodes: {d: {kind: map, fn: neg, reads: [x]}, sum: {kind: all_reduce, reads: [d], along: group}}",
    ),
    "a copy of a state": (
        False,
        "nodes: {sum: {kind: all_reduce, reads: [cache], along: group},\n"
        "      z: {kind: scatter, fn: add, reads: [sum, at, one], along: rows}}",
    ),
    "what nobody reads keeps its name": (
        True,
        "nodes: {d: {kind: map, fn: neg, reads: [x]}, sum_of: {kind: map, fn: abs, reads: [d]},\n"
        "      sum: {kind: all_reduce, reads: [d], along: group}}",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_lone_sum_is_taken_out_unless_it_is_needed(case: str) -> None:
    taken_out, block = CASES[case]
    graph = parse_graph(f"{HEAD}  second:\n    {block}\n")
    assert ("sum" in {node.name for _, node in graph.nodes()}) == (not taken_out)
    assert all(block.nodes for block in graph.blocks)
    assert parse_graph(write_graph(graph)) == graph


def test_a_sum_stays_where_a_block_carries_one_side_and_reads_the_other() -> None:
    blocks = """  second:
    nodes: {d: {kind: map, fn: neg, reads: [e]}, sum: {kind: all_reduce, reads: [d], along: group}}
  third:
    count: 2
    carried: {d: z}
    nodes: {z: {kind: zip, fn: add, reads: [d, sum]}}
"""
    graph = parse_graph(HEAD + blocks)
    assert graph.block_named["second"].nodes[-1].name == "sum"


def copies_instead(data: Data) -> Data:
    """The same graph with a copy for each sum over members."""
    changed: Data = json.loads(json.dumps(data))
    for block in changed["blocks"].values():
        for fields in block["nodes"].values():
            if fields["kind"] == "all_reduce":
                del fields["along"]
                fields |= {"kind": "map", "fn": "copy"}
    return changed


@settings(max_examples=60, derandomize=True)
@given(st.integers(0, 2**32))
def test_a_sum_over_one_member_is_a_copy(seed: int) -> None:
    data = random_data(Random(seed))
    summed, copied = parse_graph(json.dumps(data)), parse_graph(json.dumps(copies_instead(data)))
    arrays = random_arrays(copied, 1)
    found, expected = evaluate(summed, arrays), evaluate(copied, arrays)
    assert {t.name for t in summed.tensors if t.role in ("output", "state")} <= found.keys() & expected.keys()
    for name in found.keys() & expected.keys():
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-8, atol=1e-8, err_msg=name)
