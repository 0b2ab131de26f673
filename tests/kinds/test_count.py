"""Counting: figures worked out by hand, and laws of conservation."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patterns.count import (
    compulsory,
    exchanged_bytes,
    graph_demand,
    group_demand,
    group_traffic,
    hidden,
    intensity,
    node_demand,
    node_dims,
    parameter_bytes,
    parameters,
    state_capacity_bytes,
    total_demand,
)
from patterns.graph import Graph
from patterns.library import workload
from patterns.read import parse_graph
from tests.kinds.graphs import chains, graph


def traffic_bytes(made: Graph, *groups: str) -> int:
    """Bytes of all groups (texts with node names) of a graph with one block."""
    return sum(group_traffic(made, made.blocks[0].name, group.split()).total_bytes for group in groups)


def test_a_residual_add_and_norm_moves_what_it_must() -> None:
    """512 x 4096 in 2 bytes: 5 passes apart, 4 together (the sum is needed later), 3 if it is not; the gain once."""
    made = workload("add_rms_norm")
    norm = "squares mean factor scaled y"
    once = 512 * 4096 * 2
    assert traffic_bytes(made, "stream", norm) == 5 * once + 8192 == 20_979_712
    assert traffic_bytes(made, f"stream {norm}") == 4 * once + 8192 == 16_785_408
    roles = {"stream": "intermediate"}
    tensors = tuple(replace(t, role=roles.get(t.name, t.role)) for t in made.tensors)
    unneeded = replace(made, tensors=tensors)
    assert traffic_bytes(unneeded, f"stream {norm}") == 3 * once + 8192 == 12_591_104


def test_scores_of_two_activations_read_no_weight() -> None:
    """32 heads of 1024 x 128 in fp16: 2 * 32 * 1024 * 1024 * 128 FLOPs, both operands are activations."""
    made = parse_graph("""
name: scores
extents: {heads: 32, queries: 1024, keys: 1024, head_dim: 128}
tensors:
  q: {dims: [heads, queries, head_dim], dtype: fp16, role: input}
  k: {dims: [heads, keys, head_dim], dtype: fp16, role: input}
nodes:
  s: {kind: mm, reads: [q, k], over: [head_dim]}
""")
    moved = compulsory(made)
    assert made.shape("s") == (32, 1024, 1024)
    assert graph_demand(made).matrix_flops == 8_589_934_592
    assert (moved.weight_bytes, moved.input_bytes) == (0, 16_777_216)


def test_decode_attention_reads_kv_heads_and_computes_query_heads() -> None:
    """32 query heads share 8 KV heads of 128 at 4096 tokens: K and V once, not once for each query head."""
    made = workload("attention")
    assert compulsory(made).state_bytes == state_capacity_bytes(made) == 2 * 8 * 128 * 4096 * 2 == 16_777_216
    assert graph_demand(made).matrix_flops == 4 * 32 * 128 * 4096 == 67_108_864
    assert graph_demand(made).matrix_flops / compulsory(made).state_bytes == 4.0


def test_batch_dims_of_an_mm_stay() -> None:
    """[1, 5, 8, 16] times [3, 1, 16, 4]: 2 * 3 * 5 * 8 * 4 * 16 FLOPs."""
    made = parse_graph("""
name: batched
extents: {t: 3, f: 5, m: 8, k: 16, n: 4}
tensors:
  a: {dims: [f, m, k], dtype: bf16, role: input}
  b: {dims: [t, k, n], dtype: bf16, role: input}
  c: {dims: [t, f, m, n], dtype: bf16, role: output}
nodes:
  c: {kind: mm, reads: [a, b]}
""")
    assert made.shape("c") == (3, 5, 8, 4)
    assert graph_demand(made).matrix_flops == 15_360


def test_a_lookup_reads_its_rows_and_not_the_table() -> None:
    """10,000 rows of 2560 in 2 bytes out of 151,936: rows in and out, and the indices; the table only takes room."""
    made = parse_graph("""
name: lookup
extents: {vocabulary: 151936, hidden: 2560, tokens: 10000}
tensors:
  table: {dims: [vocabulary, hidden], dtype: bf16, role: weight}
  ids: {dims: [tokens], dtype: int32, role: input}
nodes:
  rows: {kind: gather, reads: [table, ids], along: vocabulary}
""")
    moved = compulsory(made)
    assert (moved.weight_bytes, moved.gathered_bytes, moved.output_bytes) == (0, 51_200_000, 51_200_000)
    assert moved.input_bytes == 40_000
    assert parameter_bytes(made) == 777_912_320
    assert exchanged_bytes(made) == 40_000 + 51_200_000


def test_more_lookups_than_rows_read_the_table_once() -> None:
    made = graph("z: {kind: gather, reads: [table, own_index], along: rows}")  # 3 x 4 rows out of 7
    assert compulsory(made).weight_bytes == 7 * 6 * 2
    assert compulsory(made).gathered_bytes == 0


REPEATED = """
name: repeated
extents: {rows: 100, width: 8, picks: 5, part: 20}
tensors:
  table: {dims: [rows, width], dtype: bf16, role: weight}
  ids: {dims: [picks], dtype: int32, role: input}
  x: {dims: [rows], dtype: bf16, role: input}
blocks:
  body:
    count: 3
    tensors: {own_ids: {dims: [picks], dtype: int32, role: weight}}
    nodes:
      same: {kind: gather, reads: [table, IDS], along: rows}
      again: {kind: gather, reads: [table, IDS], along: rows}
      part: {kind: buffer, fn: slice, reads: [x], along: rows, to: part}
"""


@pytest.mark.parametrize(("ids", "times", "index_bytes"), [("ids", 1, 5 * 4), ("own_ids", 3, 0)])
def test_executions_find_the_same_rows_unless_their_indices_change(ids: str, times: int, index_bytes: int) -> None:
    moved = compulsory(parse_graph(REPEATED.replace("IDS", ids)))
    assert moved.gathered_bytes == 5 * 8 * 2 * times
    assert moved.input_bytes == 20 * 2 + index_bytes


def test_a_gated_mlp_has_three_matrices() -> None:
    made = workload("swiglu_mlp", overrides={"ffn": "11008"})
    assert graph_demand(made).matrix_flops == 6 * 4096 * 11008 == 270_532_608
    assert parameters(made) == 3 * 4096 * 11008


SCATTER = """
    one: {kind: scatter, fn: FN, reads: [cache, own_index, lines], along: rows}
    z: {kind: map, fn: exp, reads: [one]}"""


@pytest.mark.parametrize(("fn", "read_rows"), [("set", 0), ("add", 12)])
def test_a_scatter_into_a_state_touches_rows(fn: str, read_rows: int) -> None:
    """3 x 4 rows of 6 in 2 bytes into 3 x 7: read only to combine; whoever reads the state after it reads all."""
    made = graph(SCATTER.replace("FN", fn))
    line = 6 * 2
    alone = group_traffic(made, "test", ["one"])
    assert dict(alone.writes) == {"cache": 12 * line}
    assert dict(alone.reads) == {
        **({"cache": read_rows * line} if read_rows else {}),
        "own_index": 12 * 4,
        "lines": 12 * line,
    }
    both = group_traffic(made, "test", ["one", "z"])
    assert dict(both.reads)["cache"] == 3 * 7 * line
    assert dict(both.writes) == {"cache": 12 * line, "z": 3 * 7 * line}
    assert compulsory(made).state_bytes == 3 * 7 * line
    assert compulsory(made).state_written_bytes == 12 * line


def test_a_scatter_into_a_result_copies_it() -> None:
    made = graph("z: {kind: scatter, fn: set, reads: [own_table, own_index, lines], along: rows}")
    whole = 3 * 7 * 6 * 2
    moved = group_traffic(made, "test", ["z"])
    assert (dict(moved.reads)["own_table"], dict(moved.writes)["z"]) == (whole, whole)


def test_a_buffer_moves_bytes_only_across_the_border() -> None:
    made = graph("""
        turned: {kind: buffer, fn: permute, reads: [x], order: k m}
        part: {kind: buffer, fn: slice, reads: [turned], along: k, start: 1, to: n}
        z: {kind: map, fn: exp, reads: [part]}""")
    assert traffic_bytes(made, "turned") == 2 * 3 * 5 * 2
    assert traffic_bytes(made, "part") == 2 * 3 * 4 * 2
    assert traffic_bytes(made, "turned part z") == 3 * 5 * 2 + 3 * 4 * 2


def test_a_tile_touches_its_part() -> None:
    made = workload("gemm")
    tile = group_traffic(made, "gemm", ["c"], {"m": 64, "n": 100, "k": 32})
    assert dict(tile.reads) == {"a": 64 * 32 * 2, "b": 32 * 100 * 2}
    assert dict(tile.writes) == {"c": 64 * 100 * 2}
    assert intensity(made, made.blocks[0]) == 2 * 128 * 256 * 4096 / (2 * (128 * 4096 + 4096 * 256 + 128 * 256))
    assert intensity(made) == intensity(made, made.blocks[0])


def test_what_nobody_reads_is_a_result() -> None:
    made = graph("t: {kind: map, fn: exp, reads: [x]}\nz: {kind: map, fn: exp, reads: [t]}")
    assert made.results == {"z"}
    assert hidden(made, ["t", "z"]) == {"t"}
    assert hidden(made, ["t"]) == frozenset()


def cut(made: Graph, cuts: list[int]) -> list[list[str]]:
    """The graph's nodes in consecutive groups."""
    names = [node.name for _, node in made.nodes()]
    edges = sorted({0, len(names), *(at % len(names) for at in cuts)})
    return [names[start:end] for start, end in pairwise(edges)]


@given(chains(), st.lists(st.integers(0, 7), max_size=4), st.integers(0, 7))
def test_grouping_keeps_work_and_never_moves_less_than_it_must(made: Graph, cuts: list[int], more: int) -> None:
    coarse, fine = cut(made, cuts), cut(made, [*cuts, more])
    moved = [sum(group_traffic(made, "chain", group).total_bytes for group in groups) for groups in (coarse, fine)]
    assert total_demand((group_demand(made, "chain", group), 1) for group in coarse) == graph_demand(made)
    assert compulsory(made).total_bytes <= moved[0] <= moved[1]
    everything = group_traffic(made, "chain", [node.name for _, node in made.nodes()])
    assert everything.total_bytes == compulsory(made).total_bytes


@given(chains(), st.data())
def test_hidden_is_what_only_the_group_sees(made: Graph, data: st.DataObject) -> None:
    names = [node.name for _, node in made.nodes()]
    group = data.draw(st.lists(st.sampled_from(names), unique=True))
    for _, node in made.nodes():
        readers = made.readers(node.writes)
        inside = bool(readers) and set(readers) <= set(group) and node.name in group
        assert (node.writes in hidden(made, group)) == inside


@given(chains(), st.integers(1, 7))
def test_tiles_add_up_to_the_whole(made: Graph, extent: int) -> None:
    for _, node in made.nodes():
        dim = node_dims(made, node)[-1]
        whole = made.sizes[dim]
        widths = [min(extent, whole - start) for start in range(0, whole, extent)]
        tiles = total_demand((node_demand(made, node, {dim: width}), 1) for width in widths)
        assert tiles == node_demand(made, node)
