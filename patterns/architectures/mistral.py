"""Mistral: Llama's layers, in which tokens may see a window of those before them only."""

from __future__ import annotations

from patterns.architecture import Count
from patterns.decoder.config import DecoderConfig
from patterns.decoder.draft import decoder
from patterns.decoder.windows import with_windows
from patterns.draft import Draft

ARCHITECTURES = ("MistralForCausalLM",)
MODEL_TYPES = ("mistral",)


class Config(DecoderConfig):
    """A Mistral. sliding_window: null in the versions that see all."""

    sliding_window: Count | None = None


def draft(config: Config) -> Draft:
    """Llama's graph with one window for all layers."""
    return with_windows(decoder(config), [config.sliding_window or 0] * config.num_hidden_layers)
