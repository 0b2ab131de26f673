"""What a model architecture is: how a config.json of it becomes a graph. One file in architectures/ has these names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Protocol, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from patterns.checkpoint.stored import Stored
from patterns.graph_file.draft import Draft
from patterns.plugin import load_module, modules
from patterns.quantization_config import QuantizationConfig

PACKAGE = "patterns.architectures"
# Element types as configs write them.
DTYPES: Mapping[str, str] = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}


def _absent(value: object) -> object:
    if value:
        raise ValueError("not supported here: it would change what is computed; supported: none")
    return value


Count = Annotated[int, Field(gt=0)]
# Layers are told apart one by one: no model has as many.
Layers = Annotated[int, Field(gt=0, le=10_000)]
# A field whose presence (but null, false or 0) changes what is computed.
Absent = Annotated[object, AfterValidator(_absent)]


class ConfigFields(BaseModel):
    """What is read of any config.json. What fixes neither shapes, sharing, nor element types is ignored."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    hidden_size: Count
    num_hidden_layers: Layers
    vocab_size: Count
    tie_word_embeddings: bool = False
    torch_dtype: str | None = None
    dtype: str | None = None
    quantization_config: QuantizationConfig | None = None

    # What the format's own classes take where a text part leaves a field out, which whole models never do.
    PART_DEFAULTS: ClassVar[Mapping[str, object]] = {}

    @property
    def element_type(self) -> str:
        """The dtype of weights and activations."""
        return DTYPES[self.torch_dtype or self.dtype or "bfloat16"]

    def mistakes(self) -> Iterator[tuple[str, str]]:
        """(field, message) of everything that does not fit together."""
        written = self.torch_dtype or self.dtype or "bfloat16"
        if written not in DTYPES:
            field = "torch_dtype" if self.torch_dtype else "dtype"
            yield field, f"element type {written!r} is not supported; supported: {', '.join(DTYPES)}"

    def unshared(self, members: int) -> str:
        """What so many members cannot share equally, as field and value; '' if nothing."""
        return f"vocab_size {self.vocab_size}" if self.vocab_size % members else ""


class Architecture(Protocol):
    """The names that a file in architectures/ has.

    ARCHITECTURES, MODEL_TYPES: what a config calls it (`architectures`, `model_type`). SOURCE: where its layers are
    described. Config: the fields that are read, and those that must be absent. STORED: how checkpoints hold the weights
    of its graph.
    """

    ARCHITECTURES: tuple[str, ...]
    MODEL_TYPES: tuple[str, ...]
    SOURCE: str
    Config: type[ConfigFields]
    STORED: Mapping[str, Stored]

    def draft(self, config: Any) -> Draft:
        """The graph of one run of a config without mistakes, and what of a ready-made graph is not so in it."""


def architectures(first: object = "") -> Iterator[Architecture]:
    """Every architecture there is; the one whose file is called `first` before the others, which it spares loading."""
    names = sorted(modules(PACKAGE), key=lambda name: name != first)
    return (cast(Architecture, load_module(PACKAGE, name, "architecture")) for name in names)


def supported() -> tuple[str, ...]:
    """What `architectures` of a config may name."""
    return tuple(sorted(name for architecture in architectures() for name in architecture.ARCHITECTURES))


def names_in(config: Mapping[str, Any]) -> tuple[str, ...]:
    """What a config's `architectures` names; () if it has none."""
    named = config.get("architectures")
    return tuple(map(str, named)) if isinstance(named, list) else ()


def architecture_of(config: Mapping[str, Any]) -> Architecture | None:
    """The architecture that a config names, by `architectures`, or by `model_type` where it has none of those."""
    names = names_in(config)
    by_type = not names and config.get("architectures") is None
    for architecture in architectures(config.get("model_type")):
        if set(names).intersection(architecture.ARCHITECTURES):
            return architecture
        if by_type and config.get("model_type") in architecture.MODEL_TYPES:
            return architecture
    return None
