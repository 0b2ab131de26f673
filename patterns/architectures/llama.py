"""Llama 2, 3, 3.1, 3.2: the graph of that name. Scaled rotary positions change the tables of sines, no shape."""

from __future__ import annotations

from patterns.architecture import Absent
from patterns.decoder.config import DecoderConfig
from patterns.decoder.draft import decoder
from patterns.draft import Draft

ARCHITECTURES = ("LlamaForCausalLM",)
MODEL_TYPES = ("llama",)


class Config(DecoderConfig):
    """A Llama."""

    attention_bias: Absent = False
    mlp_bias: Absent = False


def draft(config: Config) -> Draft:
    """The Llama graph."""
    return decoder(config)
