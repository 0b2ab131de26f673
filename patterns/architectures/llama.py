"""Llama 2, 3, 3.1, 3.2: the graph of that name. Scaled rotary positions change the tables of sines, no shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from patterns.decoder.biases import ATTENTION, FEED_FORWARD, with_biases
from patterns.decoder.config import DecoderConfig
from patterns.decoder.draft import decoder
from patterns.decoder.stored import TABLE
from patterns.graph_file.draft import Draft

ARCHITECTURES = ("LlamaForCausalLM",)
MODEL_TYPES = ("llama",)
SOURCE = "Touvron et al., LLaMA, arXiv 2302.13971, section 2.2; Llama 3: arXiv 2407.21783"
STORED = TABLE


class Config(DecoderConfig):
    """A Llama."""

    attention_bias: bool = False
    mlp_bias: bool = False

    PART_DEFAULTS: ClassVar[Mapping[str, object]] = {
        "hidden_size": 4096,
        "intermediate_size": 11008,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "vocab_size": 32000,
    }


def draft(config: Config) -> Draft:
    """The Llama graph, with biases where the config has some."""
    biased = (ATTENTION if config.attention_bias else ()) + (FEED_FORWARD if config.mlp_bias else ())
    return with_biases(decoder(config), biased)
