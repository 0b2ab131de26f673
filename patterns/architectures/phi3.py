"""Phi-3, Phi-3.5 and Phi-4: Llama's layers, whose matrices checkpoints hold as two: q, k and v, and gate and up."""

from __future__ import annotations

from typing import Literal

from patterns.checkpoint.stored import stored
from patterns.decoder.draft import decoder
from patterns.decoder.stored import TABLE
from patterns.decoder.windows import WindowedConfig, with_windows
from patterns.graph_file.draft import Draft

ARCHITECTURES = ("Phi3ForCausalLM",)
MODEL_TYPES = ("phi3",)
SOURCE = "Abdin et al., Phi-3 Technical Report, arXiv 2404.14219, section 2"
_LAYER = "model.layers.{layer}"
_QKV, _GATE_UP = f"{_LAYER}.self_attn.qkv_proj.weight", f"{_LAYER}.mlp.gate_up_proj.weight"
STORED = {
    **TABLE,
    "w_q": stored(_QKV, "kv_heads group head_dim", "hidden"),
    "w_k": stored(_QKV, "kv_heads head_dim", "hidden"),
    "w_v": stored(_QKV, "kv_heads head_dim", "hidden"),
    "w_gate": stored(_GATE_UP, "ffn", "hidden"),
    "w_up": stored(_GATE_UP, "ffn", "hidden"),
}


class Config(WindowedConfig):
    """A Phi-3. The two sorts of dropout are of training only."""

    rms_norm_eps: float = 1e-5
    attention_bias: Literal[False] = False


def draft(config: Config) -> Draft:
    """Llama's graph with one window for all layers."""
    return with_windows(decoder(config), config.windows)
