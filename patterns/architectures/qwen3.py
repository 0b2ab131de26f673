"""Qwen3: Llama's layers, with a norm of every head's query and key, and heads of a width of their own."""

from __future__ import annotations

from patterns.architecture import Count
from patterns.architectures import qwen2
from patterns.decoder.biases import ATTENTION, with_biases
from patterns.decoder.draft import decoder
from patterns.decoder.norms import with_head_norms
from patterns.decoder.stored import TABLE
from patterns.decoder.windows import with_windows
from patterns.graph_file.draft import Draft

ARCHITECTURES = ("Qwen3ForCausalLM",)
MODEL_TYPES = ("qwen3", "qwen3_vl_text")
SOURCE = "Yang et al., Qwen3 Technical Report, arXiv 2505.09388, section 2"
STORED = TABLE


class Config(qwen2.Config):
    """A Qwen3."""

    head_dim: Count | None = 128
    attention_bias: bool = False


def draft(config: Config) -> Draft:
    """Llama's graph with norms of queries and keys."""
    made = with_head_norms(decoder(config), config.rms_norm_eps)
    made = with_biases(made, ATTENTION) if config.attention_bias else made
    return with_windows(made, config.windows)
