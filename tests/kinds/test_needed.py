"""Work that cannot be avoided: what masks keep, and what is left once affine functions fold."""

from __future__ import annotations

import pytest

from patterns.count import graph_demand
from patterns.counting.needed import Mask, masks, needed_demand
from patterns.library import workload
from patterns.plugin import data_file
from patterns.read import parse_graph

WINDOW = "fn: sliding_window, reads: [scaled, positions, slots], window: 8"


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 9), (5, 5), (3, 8), (8, 3)])
def test_pairs_that_a_mask_keeps_are_counted(rows: int, columns: int) -> None:
    """Row r is at position columns - rows + r, and sees columns up to it."""
    mask = Mask("m", "seq", "context", rows, columns)
    seen = [sum(column <= columns - rows + row for column in range(columns)) for row in range(rows)]
    assert mask.kept_pairs == sum(seen)
    assert [mask.kept(row + 1) for row in range(rows)] == [max(1, count) for count in seen]


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 9), (5, 5), (3, 8), (8, 3)])
@pytest.mark.parametrize("window", [1, 2, 4, 20])
def test_pairs_in_a_window_are_counted(rows: int, columns: int, window: int) -> None:
    mask = Mask("m", "seq", "context", rows, columns, window)
    at = [columns - rows + row for row in range(rows)]
    seen = [[column for column in range(columns) if row - window < column <= row] for row in at]
    assert mask.kept_pairs == sum(map(len, seen))
    assert [mask.first(row) for row in range(rows) if seen[row]] == [kept[0] for kept in seen if kept]


def test_a_window_is_read_off_the_node_and_needs_that_much() -> None:
    text = data_file("patterns.library", "attention", ".yaml", "graph").read_text()
    windowed = text.replace("fn: causal, reads: [scaled, positions, slots]", WINDOW)
    graph = parse_graph(windowed, overrides={"seq": "context", "context": "64"})
    (mask,) = masks(graph, graph.blocks[0].nodes)
    assert (mask.rows, mask.columns, mask.window) == (64, 64, 8)
    kept = 8 * 64 - 8 * 7 // 2  # the first 7 rows see fewer
    assert needed_demand(graph).matrix_flops == graph_demand(graph).matrix_flops * kept // 64**2


def test_a_causal_node_is_found_by_what_it_keeps() -> None:
    graph = workload("attention", overrides={"seq": "5", "context": "9"})
    (mask,) = masks(graph, graph.blocks[0].nodes)
    assert (mask.row, mask.column, mask.rows, mask.columns) == ("seq", "context", 5, 9)


def test_a_decode_step_needs_all_products() -> None:
    graph = workload("attention")
    assert needed_demand(graph).matrix_flops == graph_demand(graph).matrix_flops


def test_a_prefill_needs_half_of_the_products_and_a_diagonal() -> None:
    graph = workload("attention", phase="prefill", context=512)
    full = graph_demand(graph).matrix_flops
    assert needed_demand(graph).matrix_flops == full * 513 // (2 * 512)


def test_softmax_needs_one_exponential_an_element_and_one_reciprocal_a_row() -> None:
    graph = workload("softmax")
    rows, columns = graph.sizes["rows"], graph.sizes["columns"]
    needed = needed_demand(graph)
    assert needed.special_ops == rows * columns + rows
    assert needed.vector_ops == rows * columns  # the sum; scaling folds


@pytest.mark.parametrize(
    "name", ["attention", "llama-3.1-8b", "softmax", "gemm_bias_act", "add_rms_norm", "swiglu_mlp"]
)
def test_no_more_is_needed_than_is_asked_for(name: str) -> None:
    graph = workload(name)
    asked, needed = graph_demand(graph), needed_demand(graph)
    assert needed.matrix_flops <= asked.matrix_flops
    assert needed.vector_ops <= asked.vector_ops
    assert needed.special_ops <= asked.special_ops
    assert needed.network_bytes == asked.network_bytes
