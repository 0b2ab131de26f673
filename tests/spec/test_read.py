"""From a file to a Graph: names, blocks, shapes, and what is taken out."""

from __future__ import annotations

import pytest

from patterns.errors import SpecError
from patterns.graph import Block, Graph, Node, Tensor
from patterns.read import parse_graph, read_graph

SOFTMAX = """
name: softmax
source: a lecture
extents: {rows: 4096, columns: rows // 2}
tensors:
  x: {dims: [rows, columns], dtype: bf16, role: input}
  y: {dims: [rows, columns], dtype: bf16, role: output}
nodes:
  e: {kind: map,    fn: exp, reads: [x]}
  s: {kind: reduce, fn: sum, reads: [e], over: [columns]}
  y: {kind: zip,    fn: div, reads: [e, s]}
"""


def test_a_graph_without_blocks_is_one_block_named_like_it() -> None:
    assert parse_graph(SOFTMAX) == Graph(
        "softmax",
        (("rows", 4096), ("columns", 2048)),
        (
            Tensor("x", ("rows", "columns"), "bf16", "input"),
            Tensor("y", ("rows", "columns"), "bf16", "output"),
            Tensor("e", ("rows", "columns"), "bf16", "intermediate"),
            Tensor("s", ("rows",), "bf16", "intermediate"),
        ),
        (
            Block(
                "softmax",
                1,
                (
                    Node("e", "map", "exp", ("x",), "e"),
                    Node("s", "reduce", "sum", ("e",), "s", over=("columns",)),
                    Node("y", "zip", "div", ("e", "s"), "y"),
                ),
            ),
        ),
    )


def test_overrides_set_extents_and_those_that_follow() -> None:
    assert parse_graph(SOFTMAX, overrides={"rows": "8 * 2"}).extents == (("rows", 16), ("columns", 8))
    assert parse_graph(SOFTMAX, overrides={"columns": "3"}).extents == (("rows", 4096), ("columns", 3))


def test_a_path_may_be_text(tmp_path: object) -> None:
    path = f"{tmp_path}/softmax.yaml"
    with open(path, "w", encoding="utf-8") as file:
        file.write(SOFTMAX)
    assert read_graph(path) == parse_graph(SOFTMAX)


def test_zip_of_a_tensor_with_itself_has_two_edges() -> None:
    graph = parse_graph(
        """
name: doubled
extents: {rows: 8}
tensors:
  x: {dims: [rows], dtype: bf16, role: input}
nodes:
  e: {kind: map, fn: exp, reads: [x]}
  y: {kind: zip, fn: add, reads: [e, e]}
"""
    )
    view = graph.networkx()
    assert view.number_of_edges("e", "y") == 2
    assert sorted(data["position"] for _, _, data in view.edges(data=True)) == [0, 1]
    assert graph.readers("e") == ("y",)


def test_words_that_other_readers_guess_at_are_names() -> None:
    graph = parse_graph(
        """
name: on
extents: {no: 8, yes: 4}
tensors:
  off: {dims: [no, yes], dtype: bf16, role: input}
nodes:
  on:  {kind: map, fn: silu, reads: [off]}
  yes: {kind: map, fn: exp,  reads: [on]}
  no:  {kind: map, fn: neg,  reads: [off]}
  y:   {kind: zip, fn: add,  reads: [yes, no]}
"""
    )
    assert [node.name for _, node in graph.nodes()] == ["on", "yes", "no", "y"]
    assert graph.tensor_named["y"].dims == ("no", "yes")


def test_anchors_and_merge_keys_and_a_place_for_them() -> None:
    graph = parse_graph(
        """
name: merged
x-vector: &vector {dims: [rows], dtype: bf16, role: input}
extents: {rows: &eight 8, columns: *eight}
tensors:
  x: *vector
  y: {<<: *vector, dtype: fp32}
nodes:
  a: &exp {kind: map, fn: exp, reads: [x]}
  b: {<<: *exp, reads: [y]}
"""
    )
    assert graph.tensor_named["x"].dtype == "bf16"
    assert graph.tensor_named["b"].dtype == "fp32"
    assert graph.sizes["columns"] == 8


STACK = """
name: stack
extents: {rows: 8, hidden: 16, layers: 3, group: 1}
tensors:
  x: {dims: [rows, hidden], dtype: bf16, role: input}
  y: {dims: [rows, hidden], dtype: bf16, role: output}
blocks:
  first:
    nodes:
      h: {kind: map, fn: exp, reads: [x]}
  body:
    count: layers * 2
    carried: {h: sum}
    tensors:
      w: {dims: [hidden, inner], dtype: bf16, role: weight}
      v: {dims: [hidden, inner], dtype: bf16, role: weight}
    nodes:
      up:   {kind: mm, reads: [h, w]}
      down: {kind: mm, reads: [up, v]}
      sum:  {kind: all_reduce, reads: [down], along: group}
  last:
    nodes:
      y: {kind: map, fn: exp, reads: [sum]}
""".replace("group: 1", "group: 1, inner: hidden * 4")


def test_blocks_repeat_and_carry() -> None:
    graph = parse_graph(STACK, overrides={"group": "2"})
    body = graph.block_named["body"]
    assert (body.count, body.carried) == (6, (("h", "sum"),))
    assert graph.copies("w") == 6
    assert graph.copies("x") == graph.copies("up") == 1
    assert graph.tensor_named["up"].block == "body"
    assert [node.over for node in body.nodes] == [("hidden",), ("inner",), ()]
    edges = {(a, b, d["tensor"], d["carried"]) for a, b, d in graph.networkx().edges(data=True)}
    assert edges == {
        ("h", "up", "h", False),
        ("up", "down", "up", False),
        ("down", "sum", "down", False),
        ("sum", "up", "h", True),
        ("sum", "y", "sum", False),
    }
    assert graph.networkx().nodes["up"] == {"kind": "mm", "fn": "", "block": "body", "count": 6}


def test_a_sum_over_one_member_is_taken_out_and_what_read_it_reads_its_input() -> None:
    graph = parse_graph(STACK)
    assert [node.name for _, node in graph.nodes()] == ["h", "up", "down", "y"]
    assert graph.block_named["body"].carried == (("h", "down"),)
    assert graph.block_named["last"].nodes[0].reads == ("down",)
    assert "sum" not in graph.tensor_named


ONE_MEMBER = """
name: alone
extents: {rows: 8, group: 1}
tensors:
  x: {dims: [rows], dtype: bf16, role: input}
  y: {dims: [rows], dtype: bf16, role: output}
  z: {dims: [rows], dtype: bf16, role: output}
nodes:
  e: {kind: map, fn: exp, reads: [x]}
  f: {kind: all_reduce, reads: [e], along: group}
  y: {kind: all_reduce, reads: [f], along: group}
  n: {kind: map, fn: neg, reads: [f]}
  z: {kind: all_reduce, reads: [x], along: group}
"""


def test_an_output_keeps_its_name_when_its_sum_is_taken_out() -> None:
    graph = parse_graph(ONE_MEMBER)
    assert [(node.name, node.reads, node.writes) for _, node in graph.nodes()] == [
        ("e", ("x",), "y"),
        ("n", ("y",), "n"),
        ("z", ("x",), "z"),
    ]
    assert [tensor.name for tensor in graph.tensors] == ["x", "y", "z", "n"]


def test_a_scatter_into_a_state_shares_its_storage() -> None:
    graph = parse_graph(
        """
name: cache
extents: {batch: 1, context: 32, width: 4, new: 1}
tensors:
  cache: {dims: [context, width], dtype: bf16, role: state}
  slots: {dims: [new], dtype: int32, role: input}
  rows:  {dims: [new, width], dtype: bf16, role: input}
nodes:
  written: {kind: scatter, fn: set, reads: [cache, slots, rows], along: context}
  again:   {kind: scatter, fn: set, reads: [written, slots, rows], along: context}
"""
    )
    assert graph.tensor_named["written"].shares == "cache"
    assert graph.tensor_named["again"].shares == "cache"
    assert graph.tensor_named["written"].role == "intermediate"


def test_a_mistake_in_one_node_is_not_told_of_all_that_read_it() -> None:
    chain = "".join(f"  n{i}: {{kind: map, fn: exp, reads: [n{i - 1}]}}\n" for i in range(1, 50))
    text = f"name: chain\nextents: {{rows: 8}}\nnodes:\n  n0: {{kind: map, fn: exp, reads: [absent]}}\n{chain}"
    with pytest.raises(SpecError) as caught:
        parse_graph(text)
    assert len(caught.value.mistakes) == 1


def test_mistakes_of_all_parts_are_told_in_the_order_of_the_file() -> None:
    text = SOFTMAX.replace("rows // 2", "rows // 0").replace("reads: [x]", "reads: [z]").replace("e, s]", "e, t]")
    with pytest.raises(SpecError) as caught:
        parse_graph(text)
    assert [mistake.path for mistake in caught.value.mistakes] == [
        "extents.columns",
        "nodes.e.reads.0",
        "nodes.y.reads.1",
    ]


@pytest.mark.parametrize("phase", [{}, {"seq": "4096"}, {"layers": "1"}, {"tensor_parallel": "8"}])
def test_the_llama_graph_reads_with_what_people_set(phase: dict[str, str]) -> None:
    from importlib.resources import files

    graph = read_graph(files("patterns.library").joinpath("llama.yaml"), phase)
    assert graph.block_named["decoder"].count == int(phase.get("layers", 32))
    reduced = [node.name for _, node in graph.nodes() if node.kind == "all_reduce"]
    assert bool(reduced) == ("tensor_parallel" in phase)


def test_nodes_may_stand_in_any_order() -> None:
    lines = SOFTMAX.splitlines(keepends=True)
    e, s, y = lines[-3:]
    for nodes in ((y, s, e), (s, y, e), (y, e, s)):
        assert parse_graph("".join([*lines[:-3], *nodes])) == parse_graph(SOFTMAX)


def test_nodes_that_need_not_move_stay_where_they_are() -> None:
    graph = parse_graph(
        """
name: two_chains
extents: {rows: 8}
tensors:
  x: {dims: [rows], dtype: bf16, role: input}
nodes:
  b: {kind: map, fn: neg, reads: [a]}
  c: {kind: map, fn: neg, reads: [x]}
  a: {kind: map, fn: neg, reads: [x]}
  d: {kind: map, fn: neg, reads: [b]}
"""
    )
    assert [node.name for _, node in graph.nodes()] == ["a", "b", "c", "d"]
