"""Every operation of an ONNX model against onnxruntime, on random numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from patterns.count import graph_demand
from patterns.evaluate import evaluate
from tests.onnx.models import FLOAT, compared, floats, imported, model, node, weight

# The last digits of single precision.
CLOSE = 2e-6
_INDEX = np.array([2, 0, 1])

UNARY: dict[str, dict[str, Any]] = {
    "Abs": {}, "Ceil": {}, "Cos": {}, "Elu": {"alpha": 0.5}, "Erf": {}, "Exp": {}, "Floor": {}, "HardSigmoid": {},
    "HardSwish": {}, "Identity": {}, "LeakyRelu": {"alpha": 0.1}, "Neg": {}, "Relu": {}, "Round": {}, "Sigmoid": {},
    "Sign": {}, "Sin": {}, "Softplus": {}, "Tanh": {}, "Softmax": {"axis": 1}, "LogSoftmax": {}, "Dropout": {},
    "ReduceMean": {"axes": [1]}, "ReduceMax": {"axes": [-1], "keepdims": 0}, "ReduceL2": {"axes": [0, 2]},
    "ReduceSumSquare": {"axes": [2]}, "ReduceMin": {}, "Transpose": {"perm": [2, 0, 1]}, "Flatten": {"axis": 2},
    "ArgMax": {"axis": 1}, "ArgMin": {"axis": -1, "keepdims": 0},
}  # fmt: skip


@pytest.mark.parametrize("op", UNARY)
def test_an_operation_of_one_value(op: str, tmp_path: Path) -> None:
    integer = ["y"] if op.startswith("Arg") else []
    made = model([node(op, "x", "y", **UNARY[op])], {"x": [2, 3, 4]}, {"y": None}, integers=integer)  # type: ignore[dict-item]
    assert compared(tmp_path, made, {"x": floats(2, 3, 4)}).error < CLOSE


# Op, shapes of two inputs.
BINARY = [
    ("Add", (2, 3, 4), (3, 1)),
    ("Sub", (4,), (2, 3, 4)),
    ("Mul", (2, 1, 4), (3, 1)),
    ("Div", (2, 3, 4), (2, 3, 4)),
    ("Max", (3, 4), (4,)),
    ("Min", (3, 4), (3, 1)),
    ("MatMul", (2, 3, 4), (4, 5)),
    ("MatMul", (4,), (2, 4, 5)),
    ("MatMul", (2, 3, 4), (4,)),
    ("MatMul", (1, 5, 8, 16), (3, 1, 16, 4)),
    ("Gemm", (3, 4), (4, 5)),
    ("PRelu", (2, 3, 4), (3, 1)),
]


@pytest.mark.parametrize(("op", "left", "right"), BINARY)
def test_an_operation_of_two_values(op: str, left: tuple[int, ...], right: tuple[int, ...], tmp_path: Path) -> None:
    made = model([node(op, "a b", "y")], {"a": left, "b": right}, {"y": None})  # type: ignore[dict-item]
    assert compared(tmp_path, made, {"a": floats(*left), "b": floats(*right, seed=2)}).error < CLOSE


def test_broadcast_products_count_what_is_multiplied(tmp_path: Path) -> None:
    made = model([node("MatMul", "a b", "y")], {"a": [1, 5, 8, 16], "b": [3, 1, 16, 4]}, {"y": [3, 5, 8, 4]})
    found = compared(tmp_path, made, {"a": floats(1, 5, 8, 16), "b": floats(3, 1, 16, 4)})
    assert found.graph.shape("y") == (3, 5, 8, 4)
    assert graph_demand(found.graph).matrix_flops == 2 * 3 * 5 * 8 * 4 * 16


# Nodes, weights; one input x of [2, 3, 4].
CHAINS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "scalars": (
        [node("Mul", "x two", "a"), node("Add", "half a", "b"), node("Div", "b two", "c"), node("Sub", "two c", "y")],
        {"two": np.float32(2), "half": np.float32([0.5])},
    ),
    "powers": (
        [node("Mul", "x x", "p"), node("Pow", "p h", "a"), node("Pow", "x three", "b"), node("Add", "a b", "y")],
        {"h": np.float32(0.5), "three": np.float32(3)},
    ),
    "clip": ([node("Clip", "x low high", "y")], {"low": np.float32(-0.5), "high": np.float32(0.7)}),
    "where": (
        [node("Less", "x w", "c"), node("Where", "c x w", "y")],
        {"w": weight(3, 4)},
    ),
    "truth": (
        [node("Greater", "x w", "a"), node("Not", "a", "b"), node("Cast", "b", "y", to=FLOAT)],
        {"w": weight(4)},
    ),
    "reshape and back": (
        [node("Reshape", "x s", "a"), node("Transpose", "a", "b", perm=[1, 0]), node("Reshape", "b t", "y")],
        {"s": np.array([-1, 4]), "t": np.array([4, 3, 2])},
    ),
    "split heads": (
        [node("Reshape", "x s", "a"), node("Softmax", "a", "b", axis=3), node("Reshape", "b t", "y")],
        {"s": np.array([0, 0, 2, 2]), "t": np.array([2, 3, 4])},
    ),
    "squeeze": (
        [node("Unsqueeze", "x one", "a"), node("Squeeze", "a one", "y")],
        {"one": np.array([1])},
    ),
    "expand": (
        [node("Unsqueeze", "x one", "a"), node("Expand", "a s", "y")],
        {"one": np.array([1]), "s": np.array([2, 5, 3, 4])},
    ),
    "a sum over what was expanded": (
        [node("ReduceMax", "x last", "m"), node("Expand", "m ms", "me"), node("ReduceMax", "x middle", "n"),
         node("Expand", "n ns", "ne"), node("MatMul", "me ne", "y")],
        {"last": np.array([2]), "middle": np.array([1]), "ms": np.array([2, 3, 5]), "ns": np.array([2, 5, 4]),
         "opset": np.array([18])},
    ),
    "pairs of one dim": (
        [node("ReduceMax", "x ends", "u", keepdims=0), node("Unsqueeze", "u last", "t"), node("Greater", "t zero", "c"),
         node("Where", "c w u", "y")],
        {"ends": np.array([0, 1]), "last": np.array([1]), "zero": np.float32(0.8), "w": weight(4),
         "opset": np.array([18])},
    ),
    "tile": ([node("Tile", "x r", "y")], {"r": np.array([1, 2, 3])}),
    "concat": ([node("Concat", "x w x", "y", axis=1)], {"w": weight(2, 5, 4)}),
    "split": (
        [node("Split", "x s", "a b", axis=2), node("Mul", "b b", "c"), node("Concat", "c a", "y", axis=2)],
        {"s": np.array([1, 3])},
    ),
    "slice": ([node("Slice", "x s e a", "y")], {"s": np.array([1, -3]), "e": np.array([9, -1]), "a": np.array([1, 2])}),
    "slice of a merged axis": (
        [node("Reshape", "x m", "a"), node("Slice", "a s e", "y")],
        {"m": np.array([6, 4]), "s": np.array([1]), "e": np.array([5])},
    ),
    "gather": ([node("Gather", "x i", "y", axis=1)], {"i": np.array([[2, 0], [1, 1]])}),
    "gather points": (
        [node("ReduceMax", "x a", "m", keepdims=0), node("TopK", "m k", "v i"), node("Unsqueeze", "i last", "u"),
         node("GatherND", "w u", "y")],
        {"a": np.array([1]), "k": np.array([2]), "last": np.array([2]), "w": weight(4, 3)},
    ),
    "one row": ([node("Gather", "x i", "y", axis=1)], {"i": np.array(-1)}),
    "gather elements": ([node("GatherElements", "x i", "y", axis=2)], {"i": np.zeros((2, 3, 2), "int64")}),
    "layer norm": (
        [node("LayerNormalization", "x g b", "y", axis=-1)],
        {"g": weight(4), "b": weight(4, seed=3)},
    ),
    "batch norm": (
        [node("BatchNormalization", "x g b m v", "y")],
        {"g": weight(3), "b": weight(3, seed=1), "m": weight(3, seed=2), "v": np.float32([1, 2, 3])},
    ),
    "instance norm": ([node("InstanceNormalization", "x g b", "y")], {"g": weight(3), "b": weight(3, seed=1)}),
    "scaled gemm": (
        [node("Reshape", "x s", "a"), node("Gemm", "a w b", "y", transB=1, alpha=0.5, beta=2.0)],
        {"s": np.array([6, 4]), "w": weight(5, 4), "b": weight(5)},
    ),
    "einsum": ([node("Einsum", "x w", "y", equation="bsd,hdk->bhsk")], {"w": weight(2, 4, 5)}),
    "product with itself": ([node("Transpose", "x", "t", perm=[0, 2, 1]), node("MatMul", "x t", "y")], {}),
    "outer product": (
        [node("ReduceSum", "x a", "s"), node("MatMul", "s w", "y")],
        {"a": np.array([2]), "w": weight(1, 7)},
    ),
    "pad": ([node("Pad", "x p v", "y")], {"p": np.array([0, 1, 0, 0, 0, 2]), "v": np.float32(0.5)}),
    "shapes": (
        [
            node("Shape", "x", "s"), node("Gather", "s first", "n"), node("Concat", "n rest", "t", axis=0),
            node("Reshape", "x t", "a"), node("ConstantOfShape", "t", "z"), node("Add", "a z", "y"),
        ],
        {"first": np.array([0]), "rest": np.array([-1])},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHAINS)
def test_a_chain(name: str, tmp_path: Path) -> None:
    nodes, weights = CHAINS[name]
    if name == "shapes":
        weights = {**weights, "rest": np.array([12])}
    opset = 18 if {"k", "opset"} & set(weights) else 17
    made = model(nodes, {"x": [2, 3, 4]}, {"y": None}, weights, opset)  # type: ignore[dict-item]
    assert compared(tmp_path, made, {"x": floats(2, 3, 4)}).error < CLOSE


# Attributes of a convolution, shape of its kernel; the picture is [2, 4, 9, 7].
CONVOLUTIONS = [
    ({}, (6, 4, 3, 3)),
    ({"strides": [2, 1], "pads": [1, 0, 2, 1]}, (6, 4, 3, 2)),
    ({"dilations": [2, 3], "pads": [1, 1, 1, 1]}, (6, 4, 3, 2)),
    ({"group": 2}, (6, 2, 1, 1)),
    ({"group": 4, "auto_pad": "SAME_UPPER", "strides": [2, 2]}, (4, 1, 3, 3)),
    ({"auto_pad": "SAME_LOWER"}, (1, 4, 2, 2)),
]


@pytest.mark.parametrize(("attributes", "kernel"), CONVOLUTIONS)
def test_a_convolution(attributes: dict[str, Any], kernel: tuple[int, ...], tmp_path: Path) -> None:
    weights = {"w": weight(*kernel), "b": weight(kernel[0])}
    made = model([node("Conv", "x w b", "y", **attributes)], {"x": [2, 4, 9, 7]}, {"y": None}, weights)  # type: ignore[dict-item]
    assert compared(tmp_path, made, {"x": floats(2, 4, 9, 7)}).error < CLOSE


POOLINGS = [
    ("MaxPool", {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1]}),
    ("MaxPool", {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}),
    ("AveragePool", {"kernel_shape": [3, 2]}),
    ("AveragePool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}),
    ("AveragePool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1}),
    ("GlobalAveragePool", {}),
    ("GlobalMaxPool", {}),
    ("LRN", {"size": 3, "alpha": 0.1, "beta": 0.6, "bias": 2.0}),
    ("DepthToSpace", {"blocksize": 2}),
    ("Upsample", {"scales": [1.0, 1.0, 2.0, 3.0], "mode": "nearest"}),
]


@pytest.mark.parametrize(("op", "attributes"), POOLINGS)
def test_a_pooling(op: str, attributes: dict[str, Any], tmp_path: Path) -> None:
    opset = 7 if op == "Upsample" else 17
    made = model([node(op, "x", "y", **attributes)], {"x": [2, 4, 9, 7]}, {"y": None}, opset=opset)  # type: ignore[dict-item]
    assert compared(tmp_path, made, {"x": floats(2, 4, 9, 7)}).error < CLOSE


TRANSPOSED = [
    ({"strides": [2, 3], "pads": [1, 0, 1, 1]}, (4, 5, 3, 3)),
    ({"strides": [2, 2], "group": 2, "dilations": [2, 1], "output_padding": [1, 0]}, (4, 3, 2, 2)),
]


@pytest.mark.parametrize(("attributes", "kernel"), TRANSPOSED)
def test_a_transposed_convolution(attributes: dict[str, Any], kernel: tuple[int, ...], tmp_path: Path) -> None:
    bias = weight(kernel[1] * attributes.get("group", 1))
    nodes = [node("ConvTranspose", "x w b", "y", **attributes)]
    made = model(nodes, {"x": [2, 4, 5, 4]}, {"y": None}, {"w": weight(*kernel), "b": bias})  # type: ignore[dict-item]
    assert compared(tmp_path, made, {"x": floats(2, 4, 5, 4)}).error < CLOSE


def test_a_picture_that_is_enlarged_and_convolved(tmp_path: Path) -> None:
    nodes = [node("Resize", "x - scales", "l", mode="nearest"), node("Conv", "l w", "y", pads=[1, 1, 1, 1])]
    weights = {"scales": np.float32([1, 1, 2, 2]), "w": weight(3, 4, 3, 3)}
    made = model(nodes, {"x": [1, 4, 5, 3]}, {"y": None}, weights)  # type: ignore[dict-item]
    assert compared(tmp_path, made, {"x": floats(1, 4, 5, 3)}).error < CLOSE


@pytest.mark.parametrize("attributes", [{}, {"exclusive": 1, "reverse": 1}])
def test_sums_of_all_elements_so_far(attributes: dict[str, int], tmp_path: Path) -> None:
    nodes = [node("CumSum", "x axis", "s", **attributes), node("Mul", "s s", "y")]
    made = model(nodes, {"x": [2, 3, 4]}, {"y": None}, {"axis": np.array(1)})  # type: ignore[dict-item]
    assert compared(tmp_path, made, {"x": floats(2, 3, 4)}).error < CLOSE


def test_the_greatest_elements(tmp_path: Path) -> None:
    outputs: Any = {"v": None, "i": None}
    made = model([node("TopK", "x k", "v i", axis=1)], {"x": [2, 5, 3]}, outputs, {"k": np.array([2])}, integers=["i"])
    assert compared(tmp_path, made, {"x": floats(2, 5, 3)}).error < CLOSE


# Attributes; shapes of queries, keys and values.
ATTENTIONS = [
    ({"is_causal": 1}, (2, 4, 5, 6), (2, 2, 5, 6), (2, 2, 5, 3)),
    ({"q_num_heads": 4, "kv_num_heads": 4, "scale": 0.3}, (2, 5, 8), (2, 7, 8), (2, 7, 12)),
]


@pytest.mark.parametrize(("attributes", "q", "k", "v"), ATTENTIONS)
def test_attention_as_one_operation(attributes: Any, q: Any, k: Any, v: Any, tmp_path: Path) -> None:
    nodes, shapes = [node("Attention", "q k v", "y", **attributes)], {"q": q, "k": k, "v": v}
    made = model(nodes, shapes, {"y": None}, opset=23)  # type: ignore[dict-item]
    feeds = {name: floats(*shape, seed=n) for n, (name, shape) in enumerate(shapes.items())}
    found = compared(tmp_path, made, feeds)
    assert found.error < CLOSE
    assert ("causal" in {item.fn for _, item in found.graph.nodes()}) == ("is_causal" in attributes)


def test_before_version_7_axes_are_said(tmp_path: Path) -> None:
    nodes = [node("Add", "x w", "a", axis=1, broadcast=1), node("Mul", "a a", "y")]
    made = model(nodes, {"x": [2, 3, 4]}, {"y": None}, {"w": weight(3)}, opset=6)  # type: ignore[dict-item]
    brought = imported(tmp_path, made)
    x = floats(2, 3, 4)
    found = evaluate(brought.graph, {**brought.arrays, "x": x})
    assert np.allclose(found["y"], (x + weight(3)[:, None]) ** 2, atol=1e-5)
