"""Whether an operation has the inputs and attributes that its version of ONNX says."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from patterns.importers.onnx_trace.known import Wrong
from patterns.importers.onnx_trace.model import Constant, Operation

if TYPE_CHECKING:
    from onnx.defs import OpSchema

# Types of attributes, by their names in ONNX.
_TYPES: Mapping[str, Any] = {
    "FLOAT": float,
    "FLOATS": tuple,
    "INT": int,
    "INTS": tuple,
    "STRING": str,
    "STRINGS": tuple,
    "TENSOR": Constant,
}


def check_signature(operation: Operation, opset: int) -> None:
    """Raises Wrong for too few or too many inputs, and attributes of other types; what ONNX does not know may pass."""
    schema = _schema(operation.op, opset, operation.domain)
    if schema is None:
        return
    count = len(operation.inputs)
    if not schema.min_input <= count <= schema.max_input:
        raise Wrong(f"has {count} inputs where {_range(schema.min_input, schema.max_input)} are due")
    for name, value in operation.attributes.items():
        known = schema.attributes.get(name)
        kind = "" if known is None else str(known.type).rpartition(".")[2]
        due = _TYPES.get(kind)
        if known is None:
            raise Wrong(f"has an attribute {name!r} that version {opset} does not know")
        if due is not None and not isinstance(value, due):
            raise Wrong(f"attribute {name!r} is {str(value)[:60]!r}, and {kind} is due")
        if isinstance(value, tuple) and kind == "INTS" and not all(isinstance(n, int) for n in value):
            raise Wrong(f"attribute {name!r} is no list of whole numbers")


def _range(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} to {most}"


@cache
def _schema(op: str, opset: int, domain: str) -> OpSchema | None:
    from onnx import defs

    if not defs.has(op, domain):
        return None
    version = min(opset, defs.onnx_opset_version()) if not domain else opset
    try:
        return defs.get_schema(op, version, domain)
    except defs.SchemaError:
        raise Wrong(f"there is no {op} in version {opset}") from None
