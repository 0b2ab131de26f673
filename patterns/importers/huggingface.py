"""A model's config.json, as Hugging Face writes it, to the Llama graph with its extents.

Only what fixes shapes, sharing and element types is read; what would change them in a way this graph does not know
(biases, other activations, quantised weights) is refused, everything else is ignored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from patterns.errors import Mistake, SpecError, UserError
from patterns.graph import Graph, Node
from patterns.load import Document, load_text, validate
from patterns.plugin import data_file
from patterns.read import read_graph
from patterns.yaml_tree import Mark

SUFFIX = ".json"
SUPPORTED = ("LlamaForCausalLM",)
MOST_DIGITS = 30


def _absent(value: object) -> object:
    if value:
        raise ValueError("not supported here: it would change what is computed")
    return value


Count = Annotated[int, Field(gt=0)]
Absent = Annotated[object, AfterValidator(_absent)]


class LlamaConfig(BaseModel):
    """What is read of a config.json."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    hidden_size: Count
    num_hidden_layers: Count
    num_attention_heads: Count
    num_key_value_heads: Count | None = None
    head_dim: Count | None = None
    intermediate_size: Count
    vocab_size: Count
    tie_word_embeddings: bool = False
    rms_norm_eps: float = 1e-6
    torch_dtype: str | None = None
    dtype: str | None = None
    hidden_act: Literal["silu"] = "silu"
    attention_bias: Absent = False
    mlp_bias: Absent = False
    quantization_config: Absent = None


# Numbers of members that a message names.
MOST_MEMBERS = 64
DTYPES: Mapping[str, str] = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}


@dataclass(frozen=True)
class Shape:
    """A config's shapes, checked against each other."""

    heads: int
    kv_heads: int
    head_dim: int
    dtype: str


def import_graph(
    text: str, file: str, name: str, members: int = 1, overrides: Mapping[str, str] | None = None
) -> Graph:
    """The graph of a config.json, for one of `members`. overrides: extents of the graph, by name.

    Raises SpecError (not JSON, missing or wrong fields, an architecture that is not supported), UnknownName for an
    override of no extent.
    """
    document = read_json(text, file)
    _need_supported(document)
    config = validate(LlamaConfig, document)
    shape = _checked(config, document)
    _need_divisible(name, config, shape, members)
    extents = {
        "tensor_parallel": members,
        "layers": config.num_hidden_layers,
        "hidden": config.hidden_size,
        "model_heads": shape.heads,
        "model_kv_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "model_ffn": config.intermediate_size,
        "model_vocabulary": config.vocab_size,
    }
    texts = {key: str(value) for key, value in extents.items()} | dict(overrides or {})
    graph = read_graph(data_file("patterns.library", "llama", ".yaml", "graph"), texts)
    return _adapted(graph, name, config, shape.dtype)


def read_json(text: str, file: str) -> Document:
    """A JSON text as a document, with the places of its values. Raises SpecError."""
    try:
        # What is no number (NaN, a million digits) stays text, so that it is told where a number is due.
        data = json.loads(text, object_pairs_hook=_unrepeated, parse_constant=str, parse_int=_whole_number)
    except json.JSONDecodeError as error:
        raise SpecError([Mistake(file, error.lineno, error.colno, "", f"not JSON: {error.msg}")]) from None
    except RecursionError:
        raise SpecError([Mistake(file, 1, 1, "", "nested too deep to be read")]) from None
    except _Repeated as error:
        raise SpecError(_repetitions(text, file, str(error))) from None
    try:
        places = load_text(text, file)
    except SpecError:
        # JSON that is no YAML (tabs): the fields' names must do.
        return Document(file, data, {(): Mark(1, 1)}, {})
    return Document(file, data, places.where, places.keys)


class _Repeated(Exception):
    """A key that an object has twice."""


def _unrepeated(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [key for key, _ in pairs]
        raise _Repeated(next(key for key in names if names.count(key) > 1))
    return made


def _repetitions(text: str, file: str, key: str) -> list[Mistake]:
    """Where keys are repeated, read as YAML; the file as a whole where it is none."""
    try:
        found = [mistake for mistake in load_text(text, file).mistakes if mistake.message.startswith("repeated key")]
    except SpecError:
        found = []
    return found or [Mistake(file, 1, 1, "", f"repeated key {key!r}; keep one")]


def _whole_number(digits: str) -> int | str:
    return int(digits) if len(digits) <= MOST_DIGITS else digits


def _need_supported(document: Document) -> None:
    data = document.data
    if not isinstance(data, dict):
        document.refuse([document.at((), "a model's config is a JSON object ({...})")])
    named = data.get("architectures")  # type: ignore[attr-defined]
    supported = f"supported: {', '.join(SUPPORTED)}"
    if not isinstance(named, list) or not named:
        document.refuse([document.at(("architectures",), f"'architectures' names no model; {supported}")])
    elif not set(SUPPORTED).intersection(map(str, named)):
        what = ", ".join(map(str, named))
        document.refuse([document.at(("architectures",), f"architecture {what} is not supported; {supported}")])


def _checked(config: LlamaConfig, document: Document) -> Shape:
    """The config's shapes. Raises SpecError with all that does not fit together."""
    heads, kv_heads = config.num_attention_heads, config.num_key_value_heads or config.num_attention_heads
    wrong: list[tuple[str, str]] = []
    if heads % kv_heads:
        wrong.append(("num_key_value_heads", f"{kv_heads} KV heads do not divide {heads} attention heads"))
    if config.head_dim is None and config.hidden_size % heads:
        wrong.append(("num_attention_heads", f"{heads} heads do not divide hidden_size {config.hidden_size}"))
    head_dim = config.head_dim or config.hidden_size // heads
    if head_dim % 2:
        wrong.append(("head_dim", f"rotary positions turn pairs, and head_dim {head_dim} is odd"))
    written = config.torch_dtype or config.dtype or "bfloat16"
    if written not in DTYPES:
        field = "torch_dtype" if config.torch_dtype else "dtype"
        wrong.append((field, f"element type {written!r} is not supported; supported: {', '.join(DTYPES)}"))
    document.refuse([document.at((field,), message) for field, message in wrong])
    return Shape(heads, kv_heads, head_dim, DTYPES[written])


def _need_divisible(name: str, config: LlamaConfig, shape: Shape, members: int) -> None:
    """Raises UserError for members that cannot share the model, with the numbers that can."""
    unshared = _unshared(config, shape, members)
    if unshared:
        able = [str(n) for n in range(1, MOST_MEMBERS + 1) if not _unshared(config, shape, n)]
        raise UserError(f"{name}: {members} members cannot share {unshared} equally; {', '.join(able)} can")


def _unshared(config: LlamaConfig, shape: Shape, members: int) -> str:
    """What so many members cannot share, '' if nothing. With more members than KV heads, several have the same one."""
    divided = {
        "num_attention_heads": shape.heads,
        "intermediate_size": config.intermediate_size,
        "vocab_size": config.vocab_size,
    }
    for field, value in divided.items():
        if value % members:
            return f"{field} {value}"
    alike = shape.kv_heads % members and members % shape.kv_heads
    return f"num_key_value_heads {shape.kv_heads}" if alike else ""


def _adapted(graph: Graph, name: str, config: LlamaConfig, dtype: str) -> Graph:
    """The graph with what is no extent: element type, epsilon, and a head that is the embedding table."""
    tensors = tuple(replace(t, dtype=dtype) if t.dtype == "bf16" else t for t in graph.tensors)
    tied = {"head": "embedding"} if config.tie_word_embeddings else {}

    def adapted(node: Node) -> Node:
        arguments = tuple((key, config.rms_norm_eps if key == "eps" else value) for key, value in node.arguments)
        return replace(node, arguments=arguments, reads=tuple(tied.get(read, read) for read in node.reads))

    return replace(
        graph,
        name=name,
        tensors=tuple(tensor for tensor in tensors if tensor.name not in tied),
        blocks=tuple(replace(block, nodes=tuple(map(adapted, block.nodes))) for block in graph.blocks),
    )
