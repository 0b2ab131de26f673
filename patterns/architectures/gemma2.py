"""Gemma 2: Gemma's layers with norms after attention and MLP, soft caps, and a window in every other layer."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from patterns.architecture import Count
from patterns.architectures import gemma
from patterns.checkpoint.stored import stored
from patterns.decoder.caps import with_cap
from patterns.decoder.norms import with_post_norms, with_unit_gains
from patterns.decoder.stored import TABLE
from patterns.decoder.windows import WindowedConfig, with_windows
from patterns.graph_file.draft import Draft

ARCHITECTURES = ("Gemma2ForCausalLM",)
MODEL_TYPES = ("gemma2",)
SOURCE = "Gemma Team, Gemma 2, arXiv 2408.00118, section 2"
_LAYER = "model.layers.{layer}"
STORED = {
    **TABLE,
    "post_attention_gain": stored(f"{_LAYER}.post_attention_layernorm.weight", "hidden"),
    "ffn_gain": stored(f"{_LAYER}.pre_feedforward_layernorm.weight", "hidden"),
    "post_ffn_gain": stored(f"{_LAYER}.post_feedforward_layernorm.weight", "hidden"),
}


class Config(gemma.Config, WindowedConfig):
    """A Gemma 2. Scores are divided by the root of `query_pre_attn_scalar`, not of a head's width."""

    sliding_window: Annotated[int, Field(ge=0)] | None = 4096
    query_pre_attn_scalar: Count = 256
    attn_logit_softcapping: float | None = 50.0
    final_logit_softcapping: float | None = 30.0

    def usual_windows(self) -> list[int]:
        """The window of each layer: every second one sees all."""
        return [0 if layer % 2 else self.sliding_window or 0 for layer in range(self.num_hidden_layers)]


def draft(config: Config) -> Draft:
    """Llama's graph with Gemma 2's differences."""
    made = with_post_norms(gemma.gemma(config), config.rms_norm_eps)
    made = gemma.biased(with_unit_gains(capped(made, config)), config)
    return with_windows(made, config.windows)


def capped(draft: Draft, config: Config) -> Draft:
    """The draft with the scores' own divisor, and soft caps of scores and logits."""
    made = draft.node("scaled", inverse_root=config.query_pre_attn_scalar)
    return with_cap(with_cap(made, "scaled", config.attn_logit_softcapping), "logits", config.final_logit_softcapping)
