"""What was compiled before: the same content is found again, nothing else is, and sections are the same either way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patterns.errors import UserError
from patterns.graph import Graph
from patterns.library import workload
from patterns.read import parse_graph
from rdu_model import Choices, compile_graph, load_machine, lower
from rdu_model.cache import SAME, cache_info, forget
from tests.random_graphs import random_graph
from tests.random_ways import odd_way

SMALL = {"hidden": 64, "model_heads": 4, "model_kv_heads": 2, "model_ffn": 96, "model_vocabulary": 50, "context": 16}
MACHINE = load_machine("sn40l")


@pytest.fixture(autouse=True)
def empty() -> Iterator[None]:
    """Each test begins and ends with nothing compiled."""
    forget()
    yield
    forget()


def llama(**changed: int) -> Graph:
    return workload("llama", overrides={"layers": 3, **SMALL, **changed})


def cached(graph: Graph, mode: str = "fused", members: int = 1, seed: int = 0, **values: str) -> list[bool]:
    """For each section whether it was compiled before."""
    machine = load_machine("sn40l", values) if values else MACHINE
    return [one.cached for one in compile_graph(graph, machine, Choices(mode, seed=seed), members).sections]


def test_the_second_time_nothing_is_compiled() -> None:
    assert cached(llama()) == [False, False, False]
    assert cached(llama()) == [True, True, True]
    info = cache_info()
    assert (info.hits, info.misses, info.kept) == (3, 3, 3)


def test_what_another_block_has_does_not_matter() -> None:
    cached(llama())
    # The head alone has a vocabulary of another size; the embedding looks up in a table of it.
    assert cached(llama(model_vocabulary=51)) == [False, True, False]
    # A layer more: the layers are the same.
    assert cached(llama(layers=4)) == [True, True, True]


def test_modes_share_what_they_have_in_common() -> None:
    cached(llama(), "fused")
    assert cached(llama(), "looped") == [True, False, True]
    # Another number of layers is another loop.
    assert cached(llama(layers=4), "looped") == [True, False, True]


def test_what_a_section_follows_from_is_compiled_again() -> None:
    cached(llama())
    assert cached(llama(context=17))[1] is False
    assert cached(llama(), pmus="900") == [False, False, False]
    assert cached(llama(), hardware_execute_ps="1 ms") == [False, False, False]
    assert cached(llama(), seed=1) == [False, False, False]
    assert cached(llama(), "unfused").count(True) == 0


@pytest.mark.parametrize("hbm", ["260 kB", "100 kB"])
@pytest.mark.parametrize("mode", ["unfused", "looped"])
def test_what_is_kept_of_a_section_is_what_would_be_worked_out_again(mode: str, hbm: str) -> None:
    """Also where tensors lie in DDR, which are others in every graph."""
    machine = load_machine("sn40l", {"hbm_bytes": hbm})
    found = 0
    for context in (16, 24, 200):
        for one in compile_graph(llama(context=context), machine, Choices(mode)).sections:
            again = replace(one.section)
            for name in SAME:
                assert getattr(one.section, name) == getattr(again, name), name
            found += one.cached
    assert found > 1


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.randoms(use_true_random=False))
def test_plans_are_the_same_with_sections_of_other_graphs(random: Random) -> None:
    one = random_graph(random)
    way = odd_way(random, "rdu", "unit")
    sizes = dict(one.extents)
    changed = random.choice([name for name, extent in one.extents if extent > 1] or ["alone"])
    other = Graph(
        one.name,
        tuple((name, extent + (name == changed and sizes[name] > 1)) for name, extent in one.extents),
        one.tensors,
        one.blocks,
    )
    try:
        forget()
        alone = way.lower(one)
        forget()
        way.lower(other)
        after = way.lower(one)
    except UserError:
        return
    assert after == alone
    for call, same in zip(after.calls, alone.calls, strict=True):
        assert call.program == same.program


READ_LATER = """
name: later
extents: {n: 64}
tensors:
  x: {dims: [n], dtype: bf16, role: input}
blocks:
  first:
    nodes:
      a: {kind: map, fn: neg, reads: [x]}
      b: {kind: map, fn: abs, reads: [a]}
  last:
    nodes:
      c: {kind: zip, fn: add, reads: [b, READ]}
"""


def test_what_another_block_reads_is_stored_for_it() -> None:
    graphs = [parse_graph(READ_LATER.replace("READ", read), "later.yaml", {}) for read in "ba"]
    cached(graphs[0])
    # A third tensor leaves the chip: the same nodes are another section.
    assert cached(graphs[1]) == [False, False]
    moved = [dict(lower(graph, MACHINE, mode="fused").calls[0].work)["hbm_bytes"] for graph in graphs]
    assert moved == [2 * 128, 3 * 128]


def test_a_found_section_is_of_the_graph_that_was_asked_for() -> None:
    cached(llama())
    graph = llama(layers=4)
    for one in compile_graph(graph, MACHINE, Choices("fused")).sections:
        assert one.cached
        assert one.section.flow.metapipe.graph is graph
        assert one.block in graph.blocks
    (layer,) = (call for call in lower(graph, MACHINE, mode="fused").calls if call.block == "decoder")
    assert layer.count == 4
