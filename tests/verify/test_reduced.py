"""The same graph with small extents: what is kept of the relations between extents."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from patterns.errors import UserError
from patterns.expression import evaluate
from patterns.graph import Graph
from patterns.graph_file.conditions import broken
from patterns.library import workload
from patterns.numbers.reduced import MOST_REPEATS, reduced
from patterns.read import parse_graph


def small(name: str, **asked: str) -> tuple[Graph, Graph]:
    """A workload, and it with small extents."""

    def read(extents: Mapping[str, str]) -> Graph:
        return workload(name, overrides={**asked, **extents})

    graph = workload(name, overrides=asked)
    return graph, reduced(graph, read)


@pytest.mark.parametrize("name", ["llama", "llama-3.1-70b", "gpt2_training", "dlrm", "attention"])
def test_relations_between_extents_are_kept(name: str) -> None:
    full, less = small(name)
    assert [node.name for _, node in full.nodes()] == [node.name for _, node in less.nodes()]
    for extent, size in full.extents:
        new = less.sizes[extent]
        assert 1 <= new <= size
        assert (size == 1) == (new == 1)
        assert new % 2 == 0 or size % 2
    for extent, text in full.formulas:
        assert less.sizes[extent] == evaluate(text, less.sizes)
    assert not any(broken(condition, less.sizes) for condition in full.requires)
    assert all(block.count <= MOST_REPEATS for block in less.blocks)
    assert max(less.elements(tensor.name) for tensor in less.tensors) < 3000


def test_what_was_asked_for_stays_a_formula() -> None:
    full, less = small("llama", seq="context // 2", model_kv_heads="model_heads")
    assert full.sizes["seq"] == 2048
    assert less.sizes["context"] == 2 * less.sizes["seq"]
    assert less.sizes["group"] == 1
    assert less.sizes["kv_heads"] == less.sizes["heads"] > 1


TWISTED = """
name: twisted
extents: {n: 4096, log: log2(n), half: n / 2, tile: 64, tiles: "n / tile"}
requires: [n >= 16 * log]
tensors:
  x: {dims: [n], dtype: fp32, role: input}
nodes:
  folded: {kind: buffer, fn: split, reads: [x], along: n, to: tiles tile}
  y: {kind: reduce, fn: sum, reads: [folded], over: [tiles]}
"""


def test_powers_of_two_and_conditions() -> None:
    graph = parse_graph(TWISTED)
    less = reduced(graph, lambda extents: parse_graph(TWISTED, overrides=extents))
    # 16 log2(n) <= n holds from 128 on, and log2(n), which is 12, stays even.
    assert less.sizes["n"] == 256
    assert less.sizes["log"] == 8
    assert less.sizes["tile"] * less.sizes["tiles"] == 256


def test_what_cannot_be_read_with_other_extents_is_run_as_it_is_or_refused() -> None:
    graph = parse_graph(TWISTED, overrides={"n": str(2**24)})

    def refuse(extents: Mapping[str, str]) -> Graph:
        raise UserError("only this size will do")

    with pytest.raises(UserError, match=r"twisted: no small extents keep .* only this size will do"):
        reduced(graph, refuse)
    assert reduced(parse_graph(TWISTED), refuse).sizes["n"] == 4096


FIXED = """
name: fixed
extents: {rows: 4096, padded: 4098, wide: 512, keys: 512}
tensors:
  x: {dims: [rows, wide], dtype: fp32, role: input}
nodes:
  p: {kind: buffer, fn: pad, reads: [x], along: rows, before: 1, after: 1, to: padded}
  y: {kind: buffer, fn: slice, reads: [p], along: wide, start: 0, to: keys}
"""


def test_extents_that_only_nodes_relate_are_made_small_where_that_can_be() -> None:
    less = reduced(parse_graph(FIXED), lambda extents: parse_graph(FIXED, overrides=extents))
    # No formula says that padded is rows + 2, so these two stay; those of one size are made small together.
    assert less.sizes == {"rows": 4096, "padded": 4098, "wide": 8, "keys": 8}


COMPOSED = """
name: twice
extents: {hidden: 4096, rows: 512}
tensors:
  x: {dims: [rows, hidden], dtype: bf16, role: input}
blocks:
  norm: {use: rms_norm, extents: {rows: rows, hidden: hidden}, reads: {x: x}}
"""


def test_extents_of_what_is_used_are_made_small_too() -> None:
    graph = parse_graph(COMPOSED)
    less = reduced(graph, lambda extents: parse_graph(COMPOSED, overrides=extents))
    assert max(less.sizes.values()) <= 16
