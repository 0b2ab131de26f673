"""The bytes of an .onnx file to a Model, checked: a file that lies about itself is refused here."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patterns.errors import UserError
from patterns.importers.onnx_trace.model import Constant, Declared, Info, Model, Operation
from patterns.order import chain_text, in_order

if TYPE_CHECKING:
    import numpy as np
    import onnx
    from numpy.typing import NDArray

# A protocol buffer cannot be longer.
MOST_BYTES = 2**31
NEWEST_KNOWN_RANK = 32
# Names of ONNX's element types in ours; what is missing here cannot be an element of a graph.
DTYPES: Mapping[str, str] = {
    "FLOAT": "fp32",
    "FLOAT16": "fp16",
    "BFLOAT16": "bf16",
    "DOUBLE": "double",
    "INT8": "int8",
    "UINT8": "int8",
    "BOOL": "int8",
    "INT16": "int32",
    "UINT16": "int32",
    "INT32": "int32",
    "INT64": "int64",
}
_OWN_DOMAINS = ("", "ai.onnx")
_SCOPES = "pkg.torch.onnx.name_scopes"


def read_model(content: bytes, file: str) -> Model:
    """The model in a file's bytes. Raises UserError if they are none, or the model contradicts itself."""
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    try:
        proto = onnx.load_model_from_string(content)
    except DecodeError:
        raise UserError(f"{file}: not an ONNX model, or a truncated one") from None
    if not proto.graph.node and not proto.graph.output:
        raise UserError(f"{file}: an ONNX model without a graph (is it the whole file?)")
    versions = {entry.domain: entry.version for entry in proto.opset_import}
    opset = next((versions[domain] for domain in _OWN_DOMAINS if domain in versions), 1)
    graph = _inlined(proto).graph
    if any(isinstance(value.name, bytes) for value in (*graph.input, *graph.output, *graph.initializer)):
        raise UserError(f"{file}: an input, an output or an initial value has a name that is no text")
    constants = _constants(graph, file)
    inputs = tuple(_info(value, file) for value in graph.input if value.name not in constants)
    operations = tuple(_operation(node, number, file) for number, node in enumerate(graph.node))
    declared = {value.name: _info(value, file) for value in (*graph.value_info, *graph.output)}
    outputs = tuple(declared[value.name] for value in graph.output)
    ordered = _in_order(operations, {info.name for info in inputs} | set(constants), outputs, file)
    return Model(file, opset, inputs, outputs, constants, ordered, declared)


def _inlined(proto: onnx.ModelProto) -> onnx.ModelProto:
    if not proto.functions:
        return proto
    from onnx.inliner import inline_local_functions

    return inline_local_functions(proto)


def _constants(graph: onnx.GraphProto, file: str) -> dict[str, Constant]:
    if graph.sparse_initializer:
        raise UserError(f"{file}: sparse initial values are not supported")
    counted = Counter(tensor.name for tensor in graph.initializer)
    twice = [name for name, count in counted.items() if count > 1]
    if twice:
        raise UserError(f"{file}: {twice[0]!r} has two initial values")
    return {tensor.name: _constant(tensor, file) for tensor in graph.initializer}


def _constant(tensor: onnx.TensorProto, file: str) -> Constant:
    """A stored array, whose data are as many as its shape says. Raises UserError."""
    import onnx

    shape = tuple(tensor.dims)
    what = f"{file}: the initial value {tensor.name!r}"
    if any(dim < 0 for dim in shape) or len(shape) > NEWEST_KNOWN_RANK:
        raise UserError(f"{what} has the shape {list(shape)}")
    dtype = _dtype(tensor.data_type, what)
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        return Constant(shape, dtype, partial(external_array, tensor, file), tensor.name, True)
    if tensor.HasField("raw_data"):
        size = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
        due, found = prod(shape) * size, len(tensor.raw_data)
    else:
        field = onnx.helper.tensor_dtype_to_field(tensor.data_type)
        due, found = prod(shape), len(getattr(tensor, field))
    if due != found:
        unit = "bytes" if tensor.HasField("raw_data") else "elements"
        raise UserError(f"{what} of shape {list(shape)} needs {due:,} {unit} of data and has {found:,}")
    return Constant(shape, dtype, partial(onnx.numpy_helper.to_array, tensor), tensor.name, True)


def external_array(tensor: onnx.TensorProto, file: str) -> NDArray[np.generic]:
    """An array in a file beside the model. Raises UserError if that is not there, or elsewhere, or too short."""
    import numpy
    import onnx

    entries = {entry.key: entry.value for entry in tensor.external_data}
    what = f"{file}: the data of {tensor.name!r}"
    place = Path(entries.get("location", ""))
    if place.is_absolute() or ".." in place.parts or not place.name:
        raise UserError(f"{what} are at {str(place)!r}, which is not beside the model")
    path = Path(file).parent / place
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
    due, start = prod(tensor.dims) * dtype.itemsize, entries.get("offset", "0")
    try:
        with path.open("rb") as stream:
            stream.seek(int(start))
            content = stream.read(due)
    except OSError as error:
        raise UserError(f"{what} are in {str(path)!r}: {error.strerror or error}") from None
    except ValueError:
        raise UserError(f"{what} begin at {start!r}, which is no number") from None
    if len(content) != due:
        raise UserError(f"{what} need {due:,} bytes from {start}, and {str(path)!r} has {len(content):,} there")
    return numpy.frombuffer(content, dtype).reshape(tuple(tensor.dims))


def _dtype(number: int, what: str) -> str:
    import onnx

    try:
        name = onnx.TensorProto.DataType.Name(number)
    except ValueError:
        raise UserError(f"{what} has element type {number}, which ONNX does not know") from None
    if name not in DTYPES:
        raise UserError(f"{what} has element type {name}; supported: {', '.join(DTYPES)}")
    return DTYPES[name]


def _info(value: onnx.ValueInfoProto, file: str) -> Info:
    kind = value.type.WhichOneof("value")
    if kind not in (None, "tensor_type"):
        raise UserError(f"{file}: {value.name!r} is a {str(kind).removesuffix('_type')}; only tensors are supported")
    tensor = value.type.tensor_type
    dtype = _dtype(tensor.elem_type, f"{file}: {value.name!r}") if tensor.elem_type else ""
    if not tensor.HasField("shape"):
        return Info(value.name, dtype, None)
    return Info(value.name, dtype, tuple(_declared(dim) for dim in tensor.shape.dim))


def _declared(dim: onnx.TensorShapeProto.Dimension) -> Declared:
    if dim.HasField("dim_value"):
        return dim.dim_value
    # A name that no letter is in, such as '?', is none.
    name = dim.dim_param
    return name if isinstance(name, str) and re.search(r"[A-Za-z]", name) else None


def _operation(node: onnx.NodeProto, number: int, file: str) -> Operation:
    words = (node.op_type, node.domain, node.name, *node.input, *node.output, *(a.name for a in node.attribute))
    if any(isinstance(word, bytes) for word in words):
        raise UserError(f"{file}: node {number} has a name that is no text")
    domain = "" if node.domain in _OWN_DOMAINS else node.domain
    attributes = {attribute.name: _attribute(attribute, node, file) for attribute in node.attribute}
    # An input that is left out is written as ''.
    inputs, outputs = list(node.input), list(node.output)
    while inputs and not inputs[-1]:
        inputs.pop()
    name = node.name or next((output for output in outputs if output), f"{node.op_type}_{number}")
    return Operation(name, node.op_type, domain, tuple(inputs), tuple(outputs), attributes, _scope(node))


def _attribute(attribute: onnx.AttributeProto, node: onnx.NodeProto, file: str) -> Any:
    """An attribute as Python data; a tensor as a Constant, a graph as its name."""
    import onnx

    kinds = onnx.AttributeProto
    what = f"{file}: attribute {attribute.name!r} of {node.name or node.op_type!r}"
    if attribute.type == kinds.TENSOR:
        return _constant(attribute.t, file)
    if attribute.type in (kinds.GRAPH, kinds.GRAPHS):
        return "a graph"
    if attribute.type in (kinds.FLOAT, kinds.INT, kinds.FLOATS, kinds.INTS):
        found = onnx.helper.get_attribute_value(attribute)
        return tuple(found) if attribute.type in (kinds.FLOATS, kinds.INTS) else found
    if attribute.type == kinds.STRING:
        return attribute.s.decode("utf-8", "replace")
    if attribute.type == kinds.STRINGS:
        return tuple(text.decode("utf-8", "replace") for text in attribute.strings)
    raise UserError(f"{what} is of a type that is not supported")


def _scope(node: onnx.NodeProto) -> tuple[str, ...]:
    """The module path that torch's exporter writes: its longest dotted name."""
    written = next((entry.value for entry in node.metadata_props if entry.key == _SCOPES), "")
    try:
        names = ast.literal_eval(written) if len(written) < 10_000 else []
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ()
    # The last is the operation itself.
    modules = [name for name in names[:-1] if isinstance(name, str)] if isinstance(names, list) else []
    return tuple(max(modules, key=len, default="").split(".")) if modules else ()


def _in_order(
    operations: tuple[Operation, ...], given: set[str], outputs: Iterable[Info], file: str
) -> tuple[Operation, ...]:
    """The operations, each after what it reads. Raises UserError for a cycle or a value that nobody makes."""
    makers: dict[str, int] = {}
    for number, operation in enumerate(operations):
        for name in filter(None, operation.outputs):
            if name in makers or name in given:
                raise UserError(f"{file}: {name!r} is made twice, the second time by {operation.name!r}")
            makers[name] = number
    known = given | set(makers)
    for operation in operations:
        for name in filter(None, operation.inputs):
            if name not in known:
                raise UserError(f"{file}: {operation.name!r} reads {name!r}, which nobody makes")
    for info in outputs:
        if info.name not in known:
            raise UserError(f"{file}: nobody makes the output {info.name!r}")
    keys = [f"{number}" for number in range(len(operations))]
    needs = {key: [keys[makers[name]] for name in operations[int(key)].inputs if name in makers] for key in keys}
    order, cycles = in_order(needs)
    if cycles:
        chain = chain_text(tuple(operations[int(key)].name for key in cycles[0][::-1]))
        raise UserError(f"{file}: a cycle: {chain}")
    if all(int(need) < int(key) for key, reads in needs.items() for need in reads):
        return operations
    return tuple(operations[int(key)] for key in order)
