"""Loops of a section: what writes over a state comes after what reads it as it was."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patterns.axes import union
from patterns.order import waits_for
from patterns.read import parse_graph
from rdu_model.ask import Asked, ask, relation
from rdu_model.tiles.loops import all_nests, nodes_in
from rdu_model.tiles.nests import STYLES, WORTH, Nest, Run, nestings, runs
from tests.random_graphs import random_graph

# The old rows are read by a reduce; `fresh` ones are written over some of them.
OVERWRITTEN = """
name: overwritten
extents: {rows: 8, n: 16, new: 2}
tensors:
  cache: {dims: [rows, n], dtype: fp32, role: state}
  at:    {dims: [new], dtype: int32, role: input}
  fresh: {dims: [new, n], dtype: fp32, role: input}
  old:   {dims: [rows], dtype: fp32, role: output}
nodes:
  turned:  {kind: map, fn: exp, reads: [cache]}
  old:     {kind: reduce, fn: sum, reads: [turned], over: [n]}
  written: {kind: scatter, fn: set, reads: [cache, at, fresh], along: rows}
"""


def in_order(items: tuple[str | Nest, ...]) -> Iterator[str]:
    for item in items:
        if isinstance(item, Nest):
            yield from in_order(item.body)
        else:
            yield item


@pytest.mark.parametrize(
    ("dim", "parts"),
    [
        ("rows", [(), ("turned", "old"), ("written",)]),  # other rows may be written than a step has read
        ("n", [(), ("turned", "old", "written"), ()]),  # a step writes only over columns that it has read
        ("new", [("turned", "old"), ("written",), ()]),  # the reader is no part of the loop
    ],
)
def test_a_state_is_read_before_it_is_overwritten(dim: str, parts: list[tuple[str, ...]]) -> None:
    graph = parse_graph(OVERWRITTEN)
    run, *_ = runs([ask(graph, node) for node in graph.blocks[0].nodes], dim)
    assert [tuple(asked.node.name for asked in part) for part in (run.before, run.nodes, run.after)] == parts


@given(st.one_of(st.integers(0, 10**6), st.sampled_from([60, 206])), st.sampled_from(STYLES))
@settings(max_examples=100, deadline=None)
def test_nested_nodes_come_after_all_that_they_wait_for(seed: int, style: tuple[float, ...]) -> None:
    graph = random_graph(Random(seed))
    for block in graph.blocks:
        asked = [ask(graph, node) for node in block.nodes]
        (shape,) = nestings(asked, graph.sizes, {node.name: 1.0 for node in block.nodes}, (style,))
        order = list(in_order(shape))
        assert sorted(order) == sorted(node.name for node in block.nodes)
        for name, before in waits_for(graph, block.nodes).items():
            assert before <= set(order[: order.index(name)])


@given(st.integers(0, 10**6))
@settings(max_examples=100, deadline=None)
def test_nodes_nest_in_each_style_as_if_in_no_other(seed: int) -> None:
    random = Random(seed)
    graph = random_graph(random)
    for block in graph.blocks:
        asked = [ask(graph, node) for node in block.nodes]
        weight = {node.name: random.choice((0.1, 1.0, 5.0)) for node in block.nodes}
        alone = [next(nestings(asked, graph.sizes, weight, (style,))) for style in STYLES]
        assert list(nestings(asked, graph.sizes, weight, STYLES)) == alone


@given(st.integers(0, 10**6), st.sampled_from(STYLES))
@settings(max_examples=100, deadline=None)
def test_the_outermost_loop_is_the_heaviest_of_all_runs(seed: int, style: tuple[float, ...]) -> None:
    random = Random(seed)
    graph = random_graph(random)
    for block in graph.blocks:
        asked = [ask(graph, node) for node in block.nodes]
        weight = {node.name: random.choice((0.0, 0.1, 1.0, 5.0)) for node in block.nodes}
        (shape,) = nestings(asked, graph.sizes, weight, (style,))
        outermost = [(nest.dim, set(nodes_in(nest))) for nest in all_nests(shape) if nest.key == 1]
        run = heaviest(asked, weight, style[0])
        assert outermost == ([(run.dim, {one.node.name for one in run.nodes})] if run else [])


def heaviest(asked: list[Asked], weight: dict[str, float], free: float) -> Run | None:
    """The first of the heaviest of all runs over all dims."""
    best, most = None, sum(weight.values()) * WORTH
    for dim in union(*[one.dims for one in asked]):
        for run in runs(asked, dim) if asked[0].graph.sizes[dim] > 1 else ():
            found = sum(weight[one.node.name] * (1 if relation(one, dim) == "reduced" else free) for one in run.nodes)
            if found > most:
                best, most = run, found
    return best
