"""What exporters take apart is put together again, and the numbers stay those of onnxruntime."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.onnx.models import compared, floats, imported, model, node, weight

ROOT = np.float32(2**0.5)


def chain(nodes: list[onnx.NodeProto], weights: dict[str, Any], *shape: int) -> onnx.ModelProto:
    """A model of one input x and one output y."""
    return model(nodes, {"x": list(shape)}, {"y": None}, weights)  # type: ignore[dict-item]


def kinds(made: onnx.ModelProto, path: Path, *shape: int) -> Counter[str]:
    """How many nodes of each function (or kind, where it has none) a model has; its numbers are right."""
    found = compared(path, made, {"x": floats(*shape)})
    assert found.error < 2e-6
    return Counter(item.fn or item.kind for _, item in found.graph.nodes())


GELU_TANH = [
    node("Mul", "x x", "a"), node("Mul", "a x", "b"), node("Mul", "b cube", "d"), node("Add", "x d", "e"),
    node("Mul", "r e", "f"), node("Tanh", "f", "g"), node("Add", "g one", "h"), node("Mul", "x half", "i"),
    node("Mul", "i h", "y"),
]  # fmt: skip
GELU_ERF = [
    node("Div", "x root", "a"), node("Erf", "a", "b"), node("Add", "b one", "c"), node("Mul", "x c", "d"),
    node("Mul", "d half", "y"),
]  # fmt: skip
SCALARS = {
    "cube": np.float32(0.044715), "r": np.float32((2 / np.pi) ** 0.5), "one": np.float32(1), "half": np.float32(0.5),
    "root": ROOT, "k": np.float32(1.702),
}  # fmt: skip
CURVES = {
    "gelu": GELU_TANH,
    "gelu_erf": GELU_ERF,
    "silu": [node("Sigmoid", "x", "a"), node("Mul", "a x", "y")],
    "square": [node("Mul", "x x", "y")],
}


@pytest.mark.parametrize("name", CURVES)
def test_a_curve_is_known_by_its_values(name: str, tmp_path: Path) -> None:
    assert kinds(chain(CURVES[name], SCALARS, 2, 5), tmp_path, 2, 5) == {name: 1}


def test_what_is_only_nearly_a_curve_stays_as_it_is(tmp_path: Path) -> None:
    nodes = [node("Mul", "x k", "a"), node("Sigmoid", "a", "b"), node("Mul", "b x", "y")]
    assert kinds(chain(nodes, SCALARS, 2, 5), tmp_path, 2, 5) == {"scale": 1, "sigmoid": 1, "mul": 1}


def test_a_curve_that_is_cut_off_far_out_stays_as_it_is(tmp_path: Path) -> None:
    made = chain([node("Clip", "x least most", "y")], {"least": np.float32(0), "most": np.float32(20)}, 2, 5)
    found = compared(tmp_path, made, {"x": 100 * floats(2, 5)})
    assert found.error < 2e-6
    assert [item.fn for _, item in found.graph.nodes()] == ["relu", "at_most"]


@pytest.mark.parametrize(("instead", "left"), [(0.0, ["sqrt", "neg"]), (5.0, ["sqrt", "is_nan", "where", "neg"])])
def test_a_guard_against_what_is_no_number_goes_only_where_zero_is_put(
    instead: float, left: list[str], tmp_path: Path
) -> None:
    nodes = [
        node("Sqrt", "x", "s"), node("IsNaN", "s", "n"), node("Where", "n instead s", "w"), node("Neg", "w", "y"),
    ]  # fmt: skip
    made = chain(nodes, {"instead": np.float32(instead)}, 2, 5)
    assert [item.fn for _, item in imported(tmp_path, made).graph.nodes()] == left


def test_a_layer_norm_in_its_parts(tmp_path: Path) -> None:
    nodes = [
        node("ReduceMean", "x", "m", axes=[-1]), node("Sub", "x m", "c"), node("Pow", "c two", "s"),
        node("ReduceMean", "s", "v", axes=[-1]), node("Add", "v eps", "e"), node("Sqrt", "e", "r"),
        node("Div", "c r", "n"), node("Mul", "n g", "k"), node("Add", "k b", "y"),
    ]  # fmt: skip
    weights = {"two": np.float32(2), "eps": np.float32(1e-5), "g": weight(8), "b": weight(8, seed=1)}
    found = kinds(chain(nodes, weights, 2, 3, 8), tmp_path, 2, 3, 8)
    assert found == {"mean": 2, "sub": 1, "square": 1, "rsqrt": 1, "mul": 2, "add": 1}


def fused_attention(mask: Any, *extra: onnx.NodeProto) -> onnx.ModelProto:
    """Attention of 2 heads of 4 on [2, 5, 8], whose queries, keys and values one product makes."""
    nodes = [
        node("MatMul", "x w", "p"), node("Add", "p b", "pb"), node("Split", "pb sizes", "q0 k0 v0", axis=2),
        *(node("Reshape", f"{n}0 heads", f"{n}1") for n in "qkv"),
        *(node("Transpose", f"{n}1", f"{n}2", perm=[0, 2, 1, 3]) for n in "qv"),
        node("Transpose", "k1", "k2", perm=[0, 2, 3, 1]),
        node("MatMul", "q2 k2", "s0"), node("Div", "s0 root", "s"), *extra,
        node("Softmax", "t", "a", axis=-1), node("MatMul", "a v2", "o"),
        node("Transpose", "o", "o2", perm=[0, 2, 1, 3]),
        node("Reshape", "o2 flat", "y"),
    ]  # fmt: skip
    weights = {
        "w": weight(8, 24), "b": weight(24), "sizes": np.array([8, 8, 8]), "heads": np.array([0, 0, 2, 4]),
        "root": np.float32(2), "flat": np.array([0, 0, 8]), "mask": mask, "low": np.float32(-np.inf),
    }  # fmt: skip
    return chain(nodes, weights, 2, 5, 8)


BELOW = np.tril(np.ones((5, 5), bool))
NEAR = BELOW & ~np.tril(np.ones((5, 5), bool), -2)
MASKS = {
    "added": (np.where(BELOW, 0, -np.inf).astype("float32"), node("Add", "s mask", "t"), "causal"),
    "chosen": (BELOW[None, None], node("Where", "mask s low", "t"), "causal"),
    "filled": (~BELOW, node("Where", "mask low s", "t"), "causal"),
    "window": (np.where(NEAR, 0, -1e9).astype("float32"), node("Add", "mask s", "t"), "sliding_window"),
    "of another kind": (
        np.where(np.indices((5, 5)).sum(0) % 2, -1e9, 0).astype("float32"),
        node("Add", "mask s", "t"),
        "add",
    ),
}


@pytest.mark.parametrize("name", MASKS)
def test_a_mask_is_positions_that_are_compared(name: str, tmp_path: Path) -> None:
    mask, masking, fn = MASKS[name]
    found = kinds(fused_attention(mask, masking), tmp_path, 2, 5, 8)
    assert found[fn] == (1 if fn != "add" else 4)


def test_one_projection_of_queries_keys_and_values_is_three(tmp_path: Path) -> None:
    mask, masking, _ = MASKS["added"]
    found = kinds(fused_attention(mask, masking), tmp_path, 2, 5, 8)
    # Two slices name the keys' positions; a merge and a permute give the output its shape; heads are dims of weights.
    assert (found["mm"], found["slice"], found["merge"], found["split"], found["permute"]) == (5, 2, 1, 0, 1)


def test_rotary_positions_are_a_roll_with_signs_in_the_sines(tmp_path: Path) -> None:
    nodes = [
        node("Sin", "t", "sin"), node("Cos", "t", "cos"), node("Slice", "x zero half axis", "a"),
        node("Slice", "x half end axis", "b"), node("Neg", "b", "n"), node("Concat", "n a", "r", axis=-1),
        node("Mul", "x cos", "xc"), node("Mul", "r sin", "rs"), node("Add", "xc rs", "y"),
        node("ReduceMax", "x", "top", axes=[0]), node("Mul", "top f", "t"),
    ]  # fmt: skip
    weights = {
        "zero": np.array([0]),
        "half": np.array([4]),
        "end": np.array([8]),
        "axis": np.array([2]),
        "f": weight(8),
    }
    found = kinds(chain(nodes, weights, 2, 3, 8), tmp_path, 2, 3, 8)
    assert (found["roll"], found["concat"], found["slice"], found["neg"]) == (1, 0, 0, 0)
