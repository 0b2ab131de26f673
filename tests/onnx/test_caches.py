"""Caches that a model takes as inputs and gives back longer are states into which a run writes its rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from patterns.errors import UserError
from patterns.evaluate import evaluate
from patterns.library import workload
from tests.onnx.models import floats, imported, model, node, weight

LAYERS, WIDTH, BATCH, SEQ, PAST = 2, 4, 2, 3, 5


def attention() -> onnx.ModelProto:
    """Two layers of attention whose keys are their values, over a cache and the rows of this run, with positions."""
    nodes = [
        node("Shape", "x", "now", start=1, end=2), node("Shape", "past_0", "before", start=1, end=2),
        node("Add", "now before", "all"), node("Squeeze", "before", "p"), node("Squeeze", "all", "a"),
        node("Range", "zero a one", "slots"), node("Range", "p a one", "places"),
        node("Unsqueeze", "places at", "rows"), node("LessOrEqual", "slots rows", "seen"),
    ]  # fmt: skip
    stream = "x"
    for n in range(LAYERS):
        nodes += [
            node("MatMul", f"{stream} w_{n}", f"k_{n}"), node("Concat", f"past_{n} k_{n}", f"present_{n}", axis=1),
            node("Transpose", f"present_{n}", f"t_{n}", perm=[0, 2, 1]), node("MatMul", f"{stream} t_{n}", f"s_{n}"),
            node("Where", f"seen s_{n} low", f"m_{n}"), node("Softmax", f"m_{n}", f"e_{n}", axis=-1),
            node("MatMul", f"e_{n} present_{n}", f"o_{n}"), node("Add", f"{stream} o_{n}", f"x_{n}"),
        ]  # fmt: skip
        stream = f"x_{n}"
    nodes.append(node("Relu", stream, "y"))
    weights: dict[str, Any] = {f"w_{n}": weight(WIDTH, WIDTH, seed=n) for n in range(LAYERS)}
    weights |= {"zero": np.array(0), "one": np.array(1), "at": np.array([1]), "low": np.float32(-np.inf)}
    shape = ["batch_size", "past_sequence_length", WIDTH]
    inputs: dict[str, Any] = {"x": ["batch_size", "sequence_length", WIDTH]}
    inputs |= {f"past_{n}": shape for n in range(LAYERS)}
    outputs = {"y": None, **{f"present_{n}": None for n in range(LAYERS)}}
    return model(nodes, inputs, outputs, weights)  # type: ignore[arg-type]


def test_a_cache_is_a_state_of_its_layer(tmp_path: Path) -> None:
    made = attention()
    found = imported(tmp_path, made, {"batch": str(BATCH), "seq": str(SEQ), "context": str(PAST + SEQ)})
    graph = found.graph
    layer = next(block for block in graph.blocks if block.count == LAYERS)
    assert [n.fn for n in layer.nodes if n.kind == "scatter" or n.fn == "concat"] == ["set"]
    assert found.states == {"past_0": ("past_0", "past_1")}
    assert graph.tensor_named["past_0"].dims[:2] == ("batch", "context")
    pasts = [floats(BATCH, PAST, WIDTH, seed=n) for n in range(LAYERS)]
    x = floats(BATCH, SEQ, WIDTH)
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = session.run(None, {"x": x, **{f"past_{n}": past for n, past in enumerate(pasts)}})
    state = np.stack([np.concatenate([past, np.zeros((BATCH, SEQ, WIDTH))], axis=1) for past in pasts])
    results = evaluate(graph, {**found.arrays, "x": x, "past_0": state})
    assert np.abs(results["y"] - wanted[0]).max() < 1e-5
    assert np.abs(results["past_0"] - np.stack(wanted[1:])).max() < 1e-5


def test_context_is_the_cache_after_the_run(tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    onnx.save(attention(), str(file))
    graph = workload(str(file), batch=2, context=4096, overrides={"seq": "1"})
    assert (graph.shape("past_0")[:2], graph.shape("x")[1]) == ((2, 4096), 1)
    with pytest.raises(
        UserError, match="a whole context of tokens cannot be run: it takes a cache, which is never empty"
    ):
        workload(str(file), "prefill", context=64)
