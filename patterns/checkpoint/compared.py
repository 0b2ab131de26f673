"""A checkpoint against the weights of a graph: tensors that are missing, too many, or of another shape or type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from patterns.checkpoint.header import StoredTensor, at
from patterns.checkpoint.stored import Stored, StoredPart, stored_parts
from patterns.errors import Mistake
from patterns.graph import Graph

# The graph's name of the format's types.
DTYPES: Mapping[str, str] = {
    "F32": "fp32",
    "BF16": "bf16",
    "F16": "fp16",
    "F8_E4M3": "fp8",
    "F8_E5M2": "fp8_e5m2",
    "F4": "fp4_e2m1",
    "I8": "int8",
    "I32": "int32",
    "I64": "int64",
}
# Tables that can be computed, which old checkpoints have.
COMPUTED = ("rotary_emb.inv_freq",)
# What stands before the names of the text part in a model of several parts.
TEXT_PREFIXES = ("language_model.", "model.language_model.")
HEAD = "lm_head.weight"


def differences(
    file: str, tensors: Sequence[StoredTensor], graph: Graph, table: Mapping[str, Stored], *, several_parts: bool
) -> Iterator[Mistake]:
    """What is not as the graph has it. several_parts: the checkpoint has tensors of other parts of the model too."""
    expected = _expected(stored_parts(graph, table))
    found = {_text_name(tensor.name, several_parts): tensor for tensor in tensors}
    for name, due in expected.items():
        tensor = found.get(name)
        if tensor is None:
            yield at(file, name, f"is missing: {_text(due)}")
        elif tensor.shape != _shape(due):
            yield at(file, name, f"has shape {list(tensor.shape)}, and the config asks for {list(_shape(due))}")
        elif DTYPES.get(tensor.dtype) != due[0].weight.dtype:
            yield at(file, name, f"is {tensor.dtype}, and the config asks for {due[0].weight.dtype}")
    allowed = {HEAD} if "head" not in graph.tensor_named else set()
    for name, tensor in found.items():
        extra = name not in expected and name not in allowed and not name.endswith(COMPUTED)
        if extra and not (several_parts and name == tensor.name):
            yield at(file, tensor.name, f"is not of this model: {tensor.dtype} {list(tensor.shape)}")


def totals(tensors: Iterable[StoredTensor]) -> str:
    """How many tensors, elements and bytes there are, by type."""
    counted: dict[str, list[int]] = {}
    for tensor in tensors:
        of_type = counted.setdefault(tensor.dtype, [0, 0, 0])
        for index, amount in enumerate((1, tensor.elements, tensor.end - tensor.begin)):
            of_type[index] += amount
    parts = [
        f"{count:,} of {dtype}, {elements:,} elements, {num_bytes:,} bytes"
        for dtype, (count, elements, num_bytes) in sorted(counted.items())
    ]
    return f"tensors: {'; '.join(parts) or 'none'}"


def _expected(found: Iterable[StoredPart]) -> dict[str, list[StoredPart]]:
    """Pieces by the name of the stored tensor that they are one after another in."""
    expected: dict[str, list[StoredPart]] = {}
    for piece in found:
        expected.setdefault(piece.name, []).append(piece)
    return expected


def _shape(due: Sequence[StoredPart]) -> tuple[int, ...]:
    return (sum(piece.shape[0] for piece in due), *due[0].shape[1:])


def _text(due: Sequence[StoredPart]) -> str:
    return f"{due[0].weight.dtype} {list(_shape(due))}"


def _text_name(name: str, several_parts: bool) -> str:
    """A tensor's name as it is in a checkpoint of the text part alone."""
    if several_parts and name.startswith(TEXT_PREFIXES[0]):
        return name.removeprefix(TEXT_PREFIXES[0])
    if several_parts and name.startswith(TEXT_PREFIXES[1]):
        return f"model.{name.removeprefix(TEXT_PREFIXES[1])}"
    return name
