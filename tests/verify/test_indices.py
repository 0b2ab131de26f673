"""Repeated and wrong indices: one rule for the reference and for every machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gpu_model
import rdu_model
from patterns.count import group_traffic, node_demand
from patterns.errors import UserError
from patterns.evaluate import evaluate
from patterns.graph import Graph
from patterns.numbers.execute import execute
from patterns.read import parse_graph

SCATTER = """
name: repeated
extents: {places: 8, updates: 4}
tensors:
  into: {dims: [places], dtype: fp32, role: ROLE}
  at:   {dims: [updates], dtype: int32, role: input}
  rows: {dims: [updates], dtype: fp32, role: input}
nodes:
  made: {kind: scatter, fn: FN, reads: [into, at, rows], along: places}
"""
UPDATES = {"into": np.zeros(8), "at": np.array([4, 3, 1, 1]), "rows": np.array([9.0, 10.0, 11.0, 12.0])}

GATHER = """
name: looked_up
extents: {rows: 3, lookups: 3}
tensors:
  table: {dims: [rows], dtype: fp32, role: weight}
  index: {dims: [lookups], dtype: int32, role: input}
nodes:
  found: {kind: gather, reads: [table, index], along: rowsOUTSIDE}
  y:     {kind: map, fn: copy, reads: [found]}
"""

Run = Callable[[dict[str, Any]], dict[str, Any]]


def scatter(fn: str, role: str = "state") -> Graph:
    return parse_graph(SCATTER.replace("FN", fn).replace("ROLE", role))


def runs(graph: Graph) -> Iterator[Run]:
    """The reference, and every policy and mode."""
    yield lambda arrays: evaluate(graph, arrays)
    gpu, rdu = gpu_model.load_machine("h100_sxm"), rdu_model.load_machine("sn40l")
    for policy in gpu_model.policy_names():
        yield lambda arrays, p=policy: execute(gpu_model.lower(graph, gpu, policy=p), arrays)  # type: ignore[misc]
    for mode in rdu_model.mode_names():
        yield lambda arrays, m=mode: execute(rdu_model.lower(graph, rdu, mode=m), arrays)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("fn", "expected"),
    [
        ("add", [0, 23, 0, 10, 9, 0, 0, 0]),
        ("max", [0, 12, 0, 10, 9, 0, 0, 0]),
        ("set", [0, 12, 0, 10, 9, 0, 0, 0]),  # the last one stays
    ],
)
@pytest.mark.parametrize("role", ["state", "input"])
def test_repeated_indices(fn: str, expected: list[int], role: str) -> None:
    for run in runs(scatter(fn, role)):
        assert run(UPDATES)["made"].tolist() == expected


def test_the_last_of_repeated_rows_is_the_last_in_order() -> None:
    turned = {**UPDATES, "at": UPDATES["at"][::-1].copy(), "rows": UPDATES["rows"][::-1].copy()}
    for run in runs(scatter("set")):
        assert run(turned)["made"].tolist() == [0, 11, 0, 10, 9, 0, 0, 0]


@pytest.mark.parametrize(("fn", "read"), [("set", 0), ("add", 4), ("max", 4)])
def test_updates_are_what_is_moved(fn: str, read: int) -> None:
    graph = scatter(fn)
    traffic = group_traffic(graph, "repeated", ["made"])
    # 4 updates, repeated or not; combined ones read what is there.
    assert dict(traffic.reads) == {k: v for k, v in {"into": 4 * read, "at": 16, "rows": 16}.items() if v}
    assert dict(traffic.writes) == {"into": 16}
    assert node_demand(graph, graph.blocks[0].nodes[0]).vector_ops == read


@pytest.mark.parametrize("wrong", [-1, 3, 10**6])
def test_an_index_outside_is_refused_everywhere_in_the_same_words(wrong: int) -> None:
    arrays = {"table": np.array([10.0, 20.0, 30.0]), "index": np.array([0, 2, wrong])}
    told = set()
    for run in runs(parse_graph(GATHER.replace("OUTSIDE", ""))):
        with pytest.raises(UserError) as error:
            run(arrays)
        told.add(str(error.value))
    assert told == {f"node 'found': index has index {wrong}, outside 0 .. 2 of 'rows'"}


@pytest.mark.parametrize("wrong", [-1, 8])
def test_a_place_outside_is_refused_everywhere_in_the_same_words(wrong: int) -> None:
    told = set()
    for run in runs(scatter("add")):
        with pytest.raises(UserError) as error:
            run({**UPDATES, "at": np.array([0, 1, wrong, 2])})
        told.add(str(error.value))
    assert told == {f"node 'made': at has index {wrong}, outside 0 .. 7 of 'places'"}


def test_what_is_outside_may_be_zero_by_wish() -> None:
    arrays = {"table": np.array([10.0, 20.0, 30.0]), "index": np.array([0, -1, 3])}
    for run in runs(parse_graph(GATHER.replace("OUTSIDE", ", outside: zero"))):
        assert run(arrays)["y"].tolist() == [10, 0, 0]
