"""What ONNX says of cases in which numpy, or a pattern, does something else: against onnxruntime, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from patterns.errors import UserError
from tests.onnx.models import compared, floats, imported, model, node

CLOSE = 2e-6
_SEVEN = np.arange(7, dtype="float32")
_SIGNS = np.float32([-7, 7, 5])

# Nodes and weights; one input x of [3, 4].
CASES: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "the last part is what is left": (
        [node("Split", "c", "a b d", num_outputs=3), node("Mul", "x d", "y")], {"c": _SEVEN},
    ),
    "a remainder with the sign of what is divided": (
        [node("Mod", "c three", "m", fmod=1), node("Mul", "x m", "y")],
        {"c": _SIGNS[:, None], "three": np.float32([3])},
    ),
    "a reduction over no axes": (
        [node("ReduceSum", "c", "m", noop_with_empty_axes=1), node("Mul", "x m", "y")], {"c": _SIGNS[:, None]},
    ),
    "rows from the last": ([node("Gather", "x i", "y", axis=1)], {"i": np.array([-1, 0])}),
    "elements from the last": ([node("GatherElements", "x i", "y", axis=1)], {"i": np.array([[-1, 0]] * 3)}),
    "padding below every number": (
        [node("Pad", "x p low", "a"), node("ReduceMax", "a", "y", axes=[1])],
        {"p": np.array([0, 1, 0, 1]), "low": np.float32(-np.inf)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_convention(case: str, tmp_path: Path) -> None:
    nodes, weights = CASES[case]
    opset = 18 if "noop" in str(nodes) or "num_outputs" in str(nodes) else 17
    made = model(nodes, {"x": [3, 4]}, {"y": None}, weights, opset=opset)  # type: ignore[dict-item]
    assert compared(tmp_path, made, {"x": floats(3, 4)}).error < CLOSE


def _of_microsoft() -> onnx.ModelProto:
    nodes = [helper.make_node("Attention", ["x", "w", "b"], ["y"], domain="com.microsoft", num_heads=2)]
    made = model(nodes, {"x": [1, 3, 4]}, {"y": None}, {"w": floats(4, 12), "b": floats(12)})  # type: ignore[dict-item]
    made.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return made


def _of(op: str, reads: str, weights: dict[str, Any], integers: list[str], **attributes: Any) -> onnx.ModelProto:
    nodes = [node(op, reads, "m", **attributes), node("ReduceMax", "m", "s", keepdims=0), node("Mul", "x s", "y")]
    shapes = {"x": [1, 1, 3, 2], **{name: [3] for name in reads.split() if name not in weights and name != "x"}}
    return model(nodes, shapes, {"y": None}, weights, integers=integers)  # type: ignore[dict-item]


_LONG = 2**13
REFUSED: dict[str, tuple[onnx.ModelProto, str]] = {
    "division that rounds to zero": (_of("Div", "a b", {}, ["x", "a", "b", "y"]), "1 x Div: division of whole numbers"),
    "a row that there is not": (_of("Gather", "x i", {"i": np.array(5)}, [], axis=2), "(Gather): row 5 of 3"),
    "blocks that do not fit": (_of("SpaceToDepth", "x", {}, [], blocksize=2), "[1, 1, 3, 2] has no blocks of 2"),
    "another operation of the same name": (_of_microsoft(), "1 x com.microsoft::Attention"),
    "constants that broadcast to what no memory holds": (
        _of("Add", "c d", {"c": floats(_LONG, 1), "d": floats(1, _LONG)}, []), "1 x Add: a constant of more than",
    ),
    "rows that no memory holds": (
        _of("Gather", "c i", {"c": floats(1, _LONG), "i": np.zeros(_LONG, "int64")}, []), "1 x Gather: a constant of",
    ),
    "a product that no memory holds": (
        _of("MatMul", "c d", {"c": floats(_LONG, 1), "d": floats(1, _LONG)}, []), "1 x MatMul: a constant of more than",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str, tmp_path: Path) -> None:
    made, message = REFUSED[case]
    with pytest.raises(UserError) as told:
        imported(tmp_path, made)
    assert message in str(told.value)
