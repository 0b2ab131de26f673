"""A decoder in its parts becomes a graph in patterns: layers folded, norms, attention and positions put together."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pytest

from patterns.count import graph_demand, parameters
from patterns.errors import UnknownName, UserError
from patterns.graph import Graph
from patterns.library import imported_text, workload
from patterns.read import parse_graph
from patterns.write import write_graph
from tests.onnx.models import compared
from tests.onnx.transformer import FFN, HEAD_DIM, HEADS, HIDDEN, KV_HEADS, LAYERS, VOCABULARY, decoder


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("decoder") / "decoder.onnx"
    onnx.save(decoder(), str(found))
    return found


@pytest.fixture(scope="module")
def graph(path: Path) -> Graph:
    return workload(str(path), overrides={"batch": "2", "seq": "5"})


def test_the_numbers_are_those_of_onnxruntime(tmp_path: Path) -> None:
    tokens = np.random.default_rng(0).integers(0, VOCABULARY, (2, 5))
    assert compared(tmp_path, decoder(), {"tokens": tokens}, batch=2, seq=5).error < 2e-6


def test_equal_layers_are_one_block(graph: Graph) -> None:
    assert [(block.name, block.count) for block in graph.blocks] == [("before", 1), ("layers", LAYERS), ("after", 1)]
    assert graph.block_named["layers"].carried == (("embed", "out"),)


def test_what_was_decomposed_is_put_together(graph: Graph) -> None:
    nodes = graph.block_named["layers"].nodes
    counted = Counter((node.kind, node.fn) for node in nodes)
    assert counted["map", "rsqrt"] == 2
    assert counted["map", "silu"] == 1
    assert counted["map", "scale"] == 1
    assert counted["zip", "causal"] == 1
    assert counted["buffer", "roll"] == 2
    # Keys and values get another name for the dim of their tokens; nothing else is moved, split, merged or permuted.
    assert counted["buffer", "slice"] == 2
    assert sum(count for (kind, _), count in counted.items() if kind == "buffer") == 4
    assert not {("map", fn) for fn in ("neg", "sqrt", "reciprocal", "sigmoid", "shift", "copy")} & set(counted)


def test_dims_have_the_names_of_what_they_are(graph: Graph) -> None:
    scores = next(node for node in graph.block_named["layers"].nodes if node.kind == "zip" and node.fn == "causal")
    assert graph.tensor_named[scores.writes].dims == ("batch", "kv_heads", "group", "seq", "keys")
    assert graph.tensor_named["attention_q_weight"].dims == ("hidden", "kv_heads", "group", "head_dim")
    assert graph.tensor_named["embed_weight"].dims == ("vocabulary", "hidden")


def test_flops_and_parameters_are_the_formulas(graph: Graph) -> None:
    tokens, attended = 2 * 5, 2 * 5 * 5
    projections = 2 * HIDDEN * HEAD_DIM * (HEADS + KV_HEADS) + 3 * HIDDEN * FFN
    layer = 2 * tokens * projections + 2 * 2 * attended * HEADS * HEAD_DIM
    assert graph_demand(graph).matrix_flops == LAYERS * layer + 2 * tokens * HIDDEN * VOCABULARY
    norms = (2 * LAYERS + 1) * HIDDEN
    tables = 2 * 5 * HEAD_DIM
    assert parameters(graph) == LAYERS * projections + VOCABULARY * HIDDEN + norms + tables


def test_it_reads_back_as_it_was_written(path: Path, graph: Graph) -> None:
    assert parse_graph(write_graph(graph)) == graph
    text = imported_text(str(path), None)
    assert parse_graph(text) == workload(str(path))
    assert "keys: seq" in text
    longer = parse_graph(text, overrides={"seq": "9", "batch": "3"})
    assert longer == workload(str(path), overrides={"seq": "9", "batch": "3"})


def test_open_dims_are_extents(path: Path) -> None:
    assert workload(str(path), batch=3).sizes["batch"] == 3
    # It has no cache: its context are the tokens of the run.
    assert workload(str(path), context=9).sizes["seq"] == workload(str(path), "prefill", context=9).sizes["seq"] == 9
    with pytest.raises(UserError, match="a whole context of tokens cannot be run: say how long it is"):
        workload(str(path), "prefill")
    with pytest.raises(UnknownName, match=r"unknown extent 'sek' \(did you mean 'seq'\?\); there is: batch, seq"):
        workload(str(path), overrides={"sek": "2"})
    with pytest.raises(UserError, match="extent 'seq' is 0; 1 or more is due"):
        workload(str(path), overrides={"seq": "0"})
    with pytest.raises(UserError, match="not divided among 2 members"):
        workload(str(path), members=2)
