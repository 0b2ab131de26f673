"""Predictions: what is remembered of parts of sections is what it would be if nothing were."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import inf
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patterns.graph import Graph
from patterns.library import workload
from patterns.read import parse_graph
from rdu_model import load_machine
from rdu_model.ask import ask_all
from rdu_model.homes import Homes
from rdu_model.tiles.layouts import Layouts
from rdu_model.tiles.loops import Loops
from rdu_model.tiles.nests import Nest
from rdu_model.tiles.predict import predict, streamed_bytes
from rdu_model.tiles.sketch import MEMOS, Sketch, Within, sketches
from rdu_model.tiles.tiling import shapes_of
from tests.random_graphs import random_graph

SN40L = load_machine("sn40l")

# Both nodes read w. Where `early` is cut along m, it has a stream of its own, which brings nothing for `late`.
TWICE_READ = """
name: twice_read
extents: {n: 64, m: 512}
tensors:
  w:    {dims: [m], dtype: fp32, role: weight}
  v:    {dims: [n, m], dtype: fp32, role: weight}
  late: {dims: [n, m], dtype: fp32, role: output}
  r:    {dims: [], dtype: fp32, role: output}
nodes:
  early: {kind: map, fn: exp, reads: [w]}
  r:     {kind: reduce, fn: sum, reads: [early], over: [m]}
  late:  {kind: zip, fn: mul, reads: [v, w]}
"""


@cache
def layer(batch: int) -> tuple[Sketch, ...]:
    """A layer of a small Llama, nested in all ways."""
    return shapes(workload("llama-3.2-1b", context=1000, batch=batch))


def shapes(graph: Graph) -> tuple[Sketch, ...]:
    """Its greatest block, nested in all ways."""
    block = max(graph.blocks, key=lambda one: len(one.nodes))
    return shapes_of(graph, block, block.nodes, SN40L, Homes())


def some_tiles(of: Sketch, random: Random) -> dict[int, int]:
    """A half of the loops with tiles of any size, the others whole."""
    whole = {nest.key: of.sizes[nest.dim] for nest in of.nests}
    return {key: random.choice((size, random.randint(1, size))) for key, size in whole.items()}


class Afresh(Layouts):
    """Layouts that remember nothing."""

    def loops(self, single: frozenset[int]) -> Loops:
        """Without what was found before, and with no number that another layout has."""
        return Layouts(self.nodes, self.shape, self.readings, self.leaving).loops(single)


def forgotten(of: Sketch) -> Sketch:
    """A sketch of which nothing is known."""
    made = replace(of, **{name: {} for name in (*MEMOS, "nodes_took")})
    layouts = of.layouts
    vars(made)["layouts"] = Afresh(layouts.nodes, layouts.shape, layouts.readings, layouts.leaving)
    return made


def check(of: Sketch, random: Random, times: int) -> None:
    """Of some tiles after others, each is predicted as if it were the only one."""
    within = Within(random.choice((10**6, 10**8)), random.random() < 0.5)
    tiles = some_tiles(of, random)
    for _ in range(times):
        # One loop's tiles change, as when they are chosen, so that much stays.
        if of.nests:
            nest = random.choice(of.nests)
            tiles |= {nest.key: some_tiles(of, random)[nest.key]}
        alone = forgotten(of)
        took = predict(alone, tiles, within)
        assert predict(of, tiles, within) == took
        assert streamed_bytes(of, tiles) == streamed_bytes(alone, tiles)
        # Where it is not found out how much, it is more than enough.
        enough = took * random.choice((0.5, 0.99, 1.0, 2.0))
        assert predict(forgotten(of), tiles, within, enough) in ((took,) if took <= enough else (took, inf))


@pytest.mark.parametrize("batch", [1, 8])
@settings(max_examples=8, deadline=None)
@given(st.randoms(use_true_random=False))
def test_a_layer_takes_what_it_would_if_no_other_tiles_had_been_tried(batch: int, random: Random) -> None:
    check(random.choice(layer(batch)), random, 12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_random_sections_take_what_they_would_if_no_other_tiles_had_been_tried(seed: int) -> None:
    random = Random(seed)
    for of in shapes(random_graph(random)):
        check(of, random, 4)


def test_what_two_nodes_read_comes_once_only_where_it_can() -> None:
    graph = parse_graph(TWICE_READ)
    shape = Nest(1, "m", ("early", "r")), Nest(2, "n", ("late",))
    (of,) = sketches(ask_all(graph, graph.blocks[0].nodes), [shape], SN40L, Homes())
    once, twice = {1: 512, 2: 8}, {1: 64, 2: 8}
    for tiles in (once, twice):
        assert predict(of, tiles, Within(10**8)) == predict(forgotten(of), tiles, Within(10**8))
    assert streamed_bytes(of, twice) == streamed_bytes(of, once) + 4 * 512
