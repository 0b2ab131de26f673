"""Small ONNX models made here, and what onnxruntime and the imported graph make of the same numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from patterns.evaluate import evaluate
from patterns.graph import Graph
from patterns.importers.onnx import Imported, import_model

FLOAT = TensorProto.FLOAT
Shape = Sequence[int | str | None]


@dataclass(frozen=True)
class Made:
    """What an imported graph is, and how far its outputs are from onnxruntime's at most."""

    graph: Graph
    error: float


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Shape],
    outputs: Mapping[str, Shape],
    weights: Mapping[str, Any] | None = None,
    opset: int = 17,
    integers: Sequence[str] = (),
) -> onnx.ModelProto:
    """A model; inputs are floats, but for `integers`."""

    def info(name: str, shape: Shape) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.INT64 if name in integers else FLOAT, shape)

    graph = helper.make_graph(
        nodes,
        "test",
        [info(*item) for item in inputs.items()],
        [info(*item) for item in outputs.items()],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in (weights or {}).items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = 8
    return made


def node(op: str, reads: str, writes: str, **attributes: Any) -> onnx.NodeProto:
    """A node; names are separated by blanks, and '-' is one that is left out."""
    names = [("" if name == "-" else name) for name in reads.split()]
    return helper.make_node(op, names, writes.split(), **attributes)


def weight(*shape: int, seed: int = 0) -> Any:
    """Numbers of a weight."""
    return (np.random.default_rng([seed, *shape]).normal(size=shape) / np.sqrt(shape[0])).astype("float32")


def imported(path: Path, made: onnx.ModelProto, overrides: Mapping[str, str] | None = None) -> Imported:
    """A model through a file."""
    file = path / "model.onnx"
    onnx.save(made, str(file))
    return import_model(file, "test", overrides or {})


def compared(path: Path, made: onnx.ModelProto, feeds: Mapping[str, Any], **overrides: int) -> Made:
    """A model imported with these extents, and run beside onnxruntime."""
    brought = imported(path, made, {name: str(value) for name, value in overrides.items()})
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = session.run(None, dict(feeds))
    arrays = dict(brought.arrays)
    for name, array in feeds.items():
        arrays[name] = array.reshape(brought.graph.shape(name))
    found = evaluate(brought.graph, arrays)
    names = [re.sub(r"\W", "_", value.name).lower() for value in made.graph.output]
    errors = []
    for name, want in zip(names, wanted, strict=True):
        assert prod(found[name].shape) == prod(want.shape)
        got = found[name].reshape(want.shape)
        errors.append(float(np.abs(got - want).max()) / max(1.0, float(np.abs(want).max())))
    return Made(brought.graph, max(errors))


def floats(*shape: int, seed: int = 1) -> Any:
    """Random numbers for an input."""
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype("float32")
