"""Which bytes beside an .onnx file its graph may follow from: shapes and tables that lie there, not weights."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from patterns.errors import UserError

if TYPE_CHECKING:
    import onnx

# Larger arrays are weights: their values change no graph.
MOST_ELEMENTS = 2**18


def read_beside(content: bytes, file: str) -> bytes:
    """What is in the files beside a model: small arrays whole, of the others how long their file is.

    What is not there is told in the place of its bytes: it counts, too. Raises UserError for what is no model.
    """
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    try:
        graph = onnx.load_model_from_string(content).graph
    except DecodeError:
        raise UserError(f"{file}: not an ONNX model, or a truncated one") from None
    outside = [tensor for tensor in _tensors(graph) if tensor.data_location == onnx.TensorProto.EXTERNAL]
    return b"\0".join(_bytes(tensor, file) for tensor in outside)


def _tensors(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    yield from graph.initializer
    yield from (attribute.t for node in graph.node for attribute in node.attribute if attribute.HasField("t"))


def _bytes(tensor: onnx.TensorProto, file: str) -> bytes:
    from patterns.importers.onnx_trace.read_model import external_array

    if prod(tensor.dims) > MOST_ELEMENTS:
        place = next((entry.value for entry in tensor.external_data if entry.key == "location"), "")
        path = Path(file).parent / place
        return str(path.stat().st_size if path.is_file() else None).encode()
    try:
        return external_array(tensor, file).tobytes()
    except UserError as error:
        return str(error).encode()
