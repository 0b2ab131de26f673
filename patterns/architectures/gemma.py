"""Gemma: Llama's layers with GELU, a scaled embedding, and gains of which one less is stored."""

from __future__ import annotations

from typing import ClassVar, Literal

from patterns.architecture import Count
from patterns.decoder.biases import ATTENTION, with_biases
from patterns.decoder.config import DecoderConfig
from patterns.decoder.draft import decoder
from patterns.decoder.norms import with_unit_gains
from patterns.decoder.stored import TABLE
from patterns.graph_file.draft import Draft

ARCHITECTURES = ("GemmaForCausalLM",)
MODEL_TYPES = ("gemma",)
SOURCE = "Gemma Team, Gemma, arXiv 2403.08295, section 2"
STORED = TABLE
# What the format calls it; early configs say `gelu` and mean the same.
GELU = "gelu_pytorch_tanh"


class Config(DecoderConfig):
    """A Gemma, whose configs leave out what is usual."""

    head_dim: Count | None = 256
    tie_word_embeddings: bool = True
    hidden_act: str = GELU
    hidden_activation: Literal["gelu_pytorch_tanh"] | None = None
    attention_bias: bool = False

    ACTIVATIONS: ClassVar[tuple[str, ...]] = (GELU, "gelu")


def draft(config: Config) -> Draft:
    """Llama's graph with Gemma's differences."""
    return biased(with_unit_gains(gemma(config)), config)


def gemma(config: Config) -> Draft:
    """Llama's graph with GELU and a scaled embedding."""
    scale = "embedded_scaled: {kind: map, fn: scale, reads: [embedded], by: ${by}}"
    return decoder(config).node("activated", fn="gelu").after("embedded", scale, by=repr(config.hidden_size**0.5))


def biased(draft: Draft, config: Config) -> Draft:
    """The draft with biases where the config has some; they come before whatever norm was put after their product."""
    return with_biases(draft, ATTENTION) if config.attention_bias else draft
