"""ONNX files that are wrong, lie about themselves, or hold what is not supported: each is told so, in one message."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from patterns.errors import UserError
from patterns.graph_file.contents import workload_digest
from patterns.importers.onnx import import_graph, import_model
from tests.onnx.models import FLOAT, floats, model, node, weight


def plain(*nodes: onnx.NodeProto, **weights: object) -> onnx.ModelProto:
    """A model of one input x of [2, 3] and one output y."""
    return model(nodes, {"x": [2, 3]}, {"y": None}, weights)  # type: ignore[dict-item]


def refused(made: onnx.ModelProto | bytes, path: Path) -> str:
    """What a model is refused with."""
    file = path / "model.onnx"
    file.write_bytes(made if isinstance(made, bytes) else made.SerializeToString())
    with pytest.raises(UserError) as told:
        import_graph(file, "test")
    return str(told.value).replace(str(file), "FILE")


def test_every_unsupported_operation_is_told_with_its_count(tmp_path: Path) -> None:
    made = plain(
        node("NonZero", "x", "a"), node("Relu", "x", "r"), node("NonZero", "r", "b"),
        helper.make_node("Magic", ["x"], ["c"], name="wand", domain="org.example"), node("Slice", "x s e i t", "d"),
        node("Concat", "a b c d", "y", axis=0),
        s=np.array([0]), e=np.array([2]), i=np.array([1]), t=np.array([2]),
    )  # fmt: skip
    assert refused(made, tmp_path) == (
        "FILE: operations that are not supported:\n"
        "  2 x NonZero (such as node 'a')\n"
        "  1 x org.example::Magic (such as node 'wand')\n"
        "  1 x Slice: a step other than 1 (such as node 'd')"
    )


REFUSED: list[tuple[str, Callable[[], onnx.ModelProto | bytes], str]] = [
    ("nothing", lambda: b"", "FILE: an ONNX model without a graph (is it the whole file?)"),
    ("text", lambda: b"name: softmax\nextents: {rows: 4}\n", "FILE: not an ONNX model, or a truncated one"),
    (
        "a cycle",
        lambda: plain(node("Add", "x b", "a"), node("Relu", "a", "b"), node("Relu", "b", "y")),
        "FILE: a cycle: b -> a -> b",
    ),
    ("a missing value", lambda: plain(node("Add", "x w", "y")), "FILE: 'y' reads 'w', which nobody makes"),
    (
        "a value made twice",
        lambda: plain(node("Relu", "x", "y"), node("Abs", "x", "y")),
        "FILE: 'y' is made twice, the second time by 'y'",
    ),
    (
        "ranks",
        lambda: plain(node("Gemm", "x w", "y"), w=weight(1, 3, 4)),
        "FILE: node 'y' (Gemm): [2, 3] x [1, 3, 4] are no two matrices",
    ),
    (
        "extents of a product",
        lambda: plain(node("MatMul", "x w", "y"), w=weight(4, 5)),
        "FILE: node 'y' (MatMul): [2, 3] x [4, 5]: 3 columns meet 4 rows",
    ),
    (
        "extents of a sum",
        lambda: plain(node("Add", "x w", "y"), w=weight(2, 4)),
        "FILE: node 'y' (Add): [2, 3] and [2, 4] do not broadcast",
    ),
    (
        "a reshape",
        lambda: plain(node("Reshape", "x s", "y"), s=np.array([4, 2])),
        "FILE: node 'y' (Reshape): [2, 3] cannot become [4, 2]",
    ),
    (
        "inputs",
        lambda: plain(node("Add", "x", "y")),
        "FILE: node 'y' (Add): has 1 inputs where 2 are due",
    ),
    (
        "an attribute",
        lambda: plain(node("Softmax", "x", "y", axis=1.5)),
        "FILE: node 'y' (Softmax): attribute 'axis' is '1.5', and INT is due",
    ),
    (
        "an axis",
        lambda: plain(node("Softmax", "x", "y", axis=2)),
        "FILE: node 'y' (Softmax): axes [2] of a value of rank 2",
    ),
    (
        "a shape that depends on numbers",
        lambda: plain(node("Cast", "x", "i", to=TensorProto.INT64), node("Expand", "x i", "y")),
        "FILE: operations that are not supported:\n"
        "  1 x Expand: the new shape depends on the model's inputs (such as node 'y')",
    ),
    (
        "nothing to run",
        lambda: plain(node("Add", "w w", "y"), w=weight(3)),
        "FILE: nothing depends on the model's inputs: there is nothing to run",
    ),
]


@pytest.mark.parametrize(("name", "made", "message"), REFUSED, ids=[name for name, _, _ in REFUSED])
def test_a_wrong_model(name: str, made: Callable[[], onnx.ModelProto | bytes], message: str, tmp_path: Path) -> None:
    assert refused(made(), tmp_path) == message


def test_a_shape_that_is_declared_wrongly_is_told_where_it_is_made(tmp_path: Path) -> None:
    made = plain(node("MatMul", "x w", "p"), node("Abs", "p", "y"), w=weight(3, 4))
    made.graph.value_info.append(helper.make_tensor_value_info("p", FLOAT, [2, 3]))
    told = "'p' is declared as [2, 3], and is [2, 4] (dimension 1)"
    assert refused(made, tmp_path) == f"FILE: node 'p' (MatMul): {told}"


def test_data_are_as_many_as_the_shape_says(tmp_path: Path) -> None:
    made = plain(node("MatMul", "x w", "y"), w=weight(3, 4))
    made.graph.initializer[0].dims[1] = 2**40
    needs = "needs 13,194,139,533,312 bytes of data and has 48"
    assert refused(made, tmp_path) == f"FILE: the initial value 'w' of shape [3, 1099511627776] {needs}"
    made.graph.initializer[0].dims[1] = -4
    assert refused(made, tmp_path) == "FILE: the initial value 'w' has the shape [3, -4]"


def external(location: str, shape: tuple[int, int] = (3, 4)) -> onnx.ModelProto:
    """A model whose two weights are in a file."""
    made = plain(node("MatMul", "x w", "p"), node("Add", "p b", "y"), w=weight(*shape), b=weight(2, 4))
    for tensor, offset in zip(made.graph.initializer, ("8", "0"), strict=True):
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", location), ("offset", offset), ("length", str(4 * shape[0] * shape[1]))):
            tensor.external_data.add(key=key, value=value)
    return made


def test_data_beside_the_model_are_read_when_they_are_wanted(tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    file.write_bytes(external("weights.bin").SerializeToString())
    # Shapes are all that a graph needs.
    assert import_graph(file, "test").shape("w") == (3, 4)
    with pytest.raises(UserError, match=r"the data of 'w' are in '.*weights.bin': No such file or directory"):
        import_model(file, "test")
    (tmp_path / "weights.bin").write_bytes(b"-" * 50)
    with pytest.raises(UserError, match=r"the data of 'w' need 48 bytes from 8, and '.*weights.bin' has 42 there"):
        import_model(file, "test")
    (tmp_path / "weights.bin").write_bytes(b"-" * 8 + floats(3, 4).tobytes())
    assert (import_model(file, "test").arrays["w"] == floats(3, 4)).all()
    file.write_bytes(external("../weights.bin").SerializeToString())
    with pytest.raises(UserError, match=r"are at '\.\./weights\.bin', which is not beside the model"):
        import_model(file, "test")


def test_what_lies_beside_a_model_counts_in_the_key_of_its_runs(tmp_path: Path) -> None:
    file, beside = tmp_path / "model.onnx", tmp_path / "weights.bin"
    file.write_bytes(external("weights.bin").SerializeToString())
    digests = [workload_digest(str(file))]
    for content in (b"-" * 50, b"-" * 56, b"-" * 55 + b"+"):
        beside.write_bytes(content)
        digests.append(workload_digest(str(file)))
    assert len(set(digests)) == 4
    beside.write_bytes(b"-" * 56)
    assert workload_digest(str(file)) == digests[2]
    # Of weights it counts how long their file is: they are as large as the machine's disk, and change no graph.
    file.write_bytes(external("weights.bin", (2**10, 2**10)).SerializeToString())
    large = workload_digest(str(file))
    beside.write_bytes(b"-" * 9)
    assert workload_digest(str(file)) != large


def test_the_package_that_reads_onnx_may_be_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(UserError, match=r"needs the package onnx: pip install 'patternloom\[onnx\]'"):
        import_graph(tmp_path / "model.onnx", "test")


def test_a_broken_file_is_never_more_than_a_mistake_of_the_user(tmp_path: Path) -> None:
    whole = plain(
        node("Conv", "p k", "c", pads=[1, 1, 1, 1]), node("Reshape", "c s", "r"), node("MatMul", "r w", "m"),
        node("Split", "m", "a b", axis=1), node("Concat", "b a", "y", axis=1), node("Reshape", "x t", "p"),
        t=np.array([1, 1, 2, 3]), k=weight(2, 1, 3, 3), s=np.array([2, -1]), w=weight(6, 4),
    ).SerializeToString()  # fmt: skip
    chance, file, read = random.Random(5), tmp_path / "model.onnx", 0
    for _ in range(150):
        broken = bytearray(whole)
        for _ in range(chance.choice((1, 2, 5))):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        file.write_bytes(broken[: chance.choice((len(broken), chance.randrange(len(broken))))])
        try:
            import_model(file, "test")
            read += 1
        except UserError as told:
            assert str(told)  # noqa: PT017 - what is told is part of what is tried
    assert 10 < read < 140
