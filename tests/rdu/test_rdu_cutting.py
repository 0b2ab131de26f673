"""Where a block is cut: the cheapest way of all, in a good order, for want of whatever runs out first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patterns.errors import DoesNotFit
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph, Node
from patterns.numbers.execute import execute
from patterns.order import waits_for
from patterns.read import parse_graph
from rdu_model import Choices, compile_graph, load_machine, lower
from rdu_model.cache import forget
from rdu_model.cuts import cutting as cutting_module
from rdu_model.cuts.calls import make, section_cycles
from rdu_model.cuts.cutting import parts_cycles
from rdu_model.cuts.order import lines
from rdu_model.floor import ports
from rdu_model.machine import Machine
from rdu_model.section import Section
from rdu_model.sections import Piece, build
from rdu_model.shortage import ROUTES, Shortage

HEAD = """
name: random
extents: {n: 32, m: 48}
tensors:
  x: {dims: [n, m], dtype: bf16, role: input}
nodes:
"""
# Calls of the tests cost so much.
CALL_CYCLES = 300


def random_chain(random: Random, count: int) -> Graph:
    """Nodes that read one or two of those before them, wide tensors and narrow ones."""
    wide, lines_of = ["x"], []
    narrow: list[str] = []
    for at in range(count):
        name, before = f"k{at}", wide[-3:]
        kind = random.choice(["map", "zip", "reduce", "spread"])
        if kind == "reduce":
            lines_of.append(f"  {name}: {{kind: reduce, fn: sum, reads: [{random.choice(before)}], over: [m]}}")
            narrow.append(name)
            continue
        if kind == "spread" and narrow:
            reads = f"[{random.choice(before)}, {narrow[-1]}]"
            lines_of.append(f"  {name}: {{kind: zip, fn: mul, reads: {reads}}}")
        elif kind == "zip" and len(before) > 1:
            lines_of.append(f"  {name}: {{kind: zip, fn: add, reads: [{', '.join(random.sample(before, 2))}]}}")
        else:
            lines_of.append(f"  {name}: {{kind: map, fn: neg, reads: [{random.choice(before)}]}}")
        wide.append(name)
    return parse_graph(HEAD + "\n".join(lines_of) + "\n", "random.yaml", {})


def small_machine(random: Random) -> Machine:
    """A machine that has little of something."""
    few = random.choice(
        [
            {"pcus": str(random.randint(2, 4))},
            {"pmus": str(random.randint(5, 9))},
            {"agcus": "1", "agcu_streams": str(random.randint(4, 6))},
        ]
    )
    return load_machine("unit", few)


def piece_of(graph: Graph) -> Piece:
    (block,) = graph.blocks
    return Piece(graph, block, block.nodes, 1, 1)


def every_way(piece: Piece, machine: Machine, nodes: tuple[Node, ...]) -> Iterator[tuple[int, int]]:
    """Cycles and calls of every way to cut nodes in their order."""
    place = {node.name: at for at, node in enumerate(piece.nodes)}
    built: dict[tuple[int, int], Section | Shortage] = {}
    for start, end in combinations(range(len(nodes) + 1), 2):
        own = tuple(sorted(nodes[start:end], key=lambda node: place[node.name]))
        built[start, end] = build(replace(piece, nodes=own), machine)
    for count in range(len(nodes)):
        for places in combinations(range(1, len(nodes)), count):
            sections = [built[edge] for edge in pairwise((0, *places, len(nodes)))]
            fits = [section for section in sections if isinstance(section, Section)]
            if len(fits) == len(sections):
                yield sum(map(section_cycles, fits)), len(fits)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.randoms(use_true_random=False), st.integers(2, 6), st.sampled_from([1, 3000, 200_000]))
def test_no_way_to_cut_is_cheaper(random: Random, count: int, call_cycles: int) -> None:
    graph, machine = random_chain(random, count), small_machine(random)
    piece = piece_of(graph)
    try:
        made = make(piece, machine, call_cycles)
    except DoesNotFit:
        return
    found = parts_cycles(made.parts, call_cycles)
    cheapest = min(
        cycles + calls * call_cycles
        for line in lines(graph, piece.nodes)
        for cycles, calls in every_way(piece, machine, line.nodes)
    )
    if made.lack:
        assert found == cheapest
    else:
        # What fits one section is cut only where that saves a tenth.
        assert cheapest <= found <= cheapest / 0.9 + 1


@settings(max_examples=4, deadline=None, derandomize=True)
@given(st.randoms(use_true_random=False))
def test_the_search_of_large_blocks_finds_nearly_the_cheapest(random: Random) -> None:
    graph, machine = random_chain(random, 11), load_machine("unit", {"pcus": "4"})
    piece = piece_of(graph)
    exact = parts_cycles(make(piece, machine, CALL_CYCLES).parts, CALL_CYCLES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutting_module, "SMALL", 0)
        patch.setattr(cutting_module, "PLACES", 5)
        rough = parts_cycles(make(piece, machine, CALL_CYCLES).parts, CALL_CYCLES)
    assert exact <= rough <= 1.25 * exact


WANTING = {
    "PCUs": {"pcus": "3"},
    "PMUs": {"pmus": "8"},
    "AGCU streams": {"agcus": "1", "agcu_streams": "4"},
    ROUTES: {"pcus": "12", "pmus": "40", "pmu_bytes_per_cycle": "64 B/cycle"},
}


@pytest.mark.parametrize("resource", WANTING)
def test_whatever_runs_out_cuts_and_is_named(resource: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, machine = random_chain(Random(5), 9), load_machine("unit", WANTING[resource])
    if resource == ROUTES:
        # A mesh of one flow a link would do in a section of a thousand units: links grow with the units.
        monkeypatch.setattr(ports, "mesh_room", lambda machine: 20)
    compilation = compile_graph(graph, machine, Choices("fused"))
    assert len(compilation.sections) > 1
    assert any(resource in refusal.reason for refusal in compilation.refusals)
    plan = lower(graph, machine, mode="fused")
    arrays = random_arrays(graph, 0)
    expected, found = evaluate(graph, arrays), execute(plan, arrays)
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, err_msg=name)


@settings(max_examples=10, deadline=None, derandomize=True)
@given(st.randoms(use_true_random=False), st.booleans())
def test_a_section_says_what_it_would_lack_with_the_next_node(random: Random, large: bool) -> None:
    graph, machine = random_chain(random, 8), small_machine(random)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cutting_module, "SMALL", 0 if large else 12)
            forget()
            sections = compile_graph(graph, machine, Choices("fused")).sections
    except DoesNotFit:
        return
    assert sections[-1].stopped is None
    for one in sections[:-1]:
        stop = one.stopped
        assert stop is not None
        own = {*one.section.flow.metapipe.nodes, stop.node}
        piece = piece_of(graph)
        longer = build(replace(piece, nodes=tuple(node for node in piece.nodes if node.name in own)), machine)
        assert stop.lack == (longer if isinstance(longer, Shortage) else None)
        assert stop.text in one.reason
        if stop.lack:
            assert stop.lack.needed > stop.lack.available
            assert f"{stop.lack.needed - stop.lack.available:,} more than the {stop.lack.available:,}" in stop.text


def two_chains() -> str:
    """Two chains that have nothing to do with one another, written in turn."""
    lines_of = []
    for at in range(4):
        for chain in "ab":
            lines_of.append(f"  {chain}{at}: {{kind: map, fn: neg, reads: [{f'{chain}{at - 1}' if at else chain}]}}")
    tensors = "".join(f"  {chain}: {{dims: [n], dtype: bf16, role: input}}\n" for chain in "ab")
    return "name: two\nextents: {n: 4096}\ntensors:\n" + tensors + "nodes:\n" + "\n".join(lines_of) + "\n"


def test_an_order_with_fewer_bytes_alive_is_cut_where_nothing_crosses() -> None:
    graph, machine = parse_graph(two_chains(), "two.yaml", {}), load_machine("unit", {"pcus": "4"})
    plan = lower(graph, machine, mode="fused")
    assert [call.nodes for call in plan.calls] == [("a0", "a1", "a2", "a3"), ("b0", "b1", "b2", "b3")]
    # Both inputs in and both results out.
    assert sum(dict(call.work)["hbm_bytes"] for call in plan.calls) == 4 * 4096 * 2
    arrays = random_arrays(graph, 0)
    np.testing.assert_allclose(execute(plan, arrays)["b3"], evaluate(graph, arrays)["b3"])


CACHED = """
name: cached
extents: {rows: 64, n: 8, width: 16}
tensors:
  cache: {dims: [rows, width], dtype: bf16, role: state}
  at: {dims: [n], dtype: int32, role: input}
  x: {dims: [n, width], dtype: bf16, role: input}
nodes:
  old: {kind: gather, reads: [cache, at], along: rows}
  y: {kind: zip, fn: add, reads: [old, x]}
  big: {kind: map, fn: exp, reads: [y]}
  z: {kind: map, fn: neg, reads: [big]}
  cache_2: {kind: scatter, fn: set, reads: [cache, at, x], along: rows}
"""


def test_what_reads_a_state_comes_before_what_writes_over_it() -> None:
    graph = parse_graph(CACHED, "cached.yaml", {})
    before = waits_for(graph, graph.blocks[0].nodes)
    assert before["cache_2"] == {"old"}
    for line in lines(graph, graph.blocks[0].nodes):
        names = [node.name for node in line.nodes]
        assert all(names.index(first) < names.index(node) for node in names for first in before[node])
