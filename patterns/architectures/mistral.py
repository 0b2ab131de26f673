"""Mistral: Llama's layers, in which tokens may see a window of those before them only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from patterns.decoder.draft import decoder
from patterns.decoder.stored import TABLE
from patterns.decoder.windows import WindowedConfig, with_windows
from patterns.graph_file.draft import Draft

ARCHITECTURES = ("MistralForCausalLM",)
MODEL_TYPES = ("mistral",)
SOURCE = "Jiang et al., Mistral 7B, arXiv 2310.06825, section 2"
STORED = TABLE


class Config(WindowedConfig):
    """A Mistral. sliding_window: null in the versions that see all."""

    PART_DEFAULTS: ClassVar[Mapping[str, object]] = {
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 32000,
        "sliding_window": 4096,
    }


def draft(config: Config) -> Draft:
    """Llama's graph with one window for all layers."""
    return with_windows(decoder(config), config.windows)
