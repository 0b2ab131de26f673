"""Qwen3-MoE: Qwen3's attention, and Mixtral's experts, many and narrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from patterns.architecture import Count
from patterns.architectures import qwen3
from patterns.checkpoint.stored import stored
from patterns.decoder.biases import ATTENTION, with_biases
from patterns.decoder.draft import decoder
from patterns.decoder.experts import NarrowExpertsConfig, expert_extents, with_shares_of_all
from patterns.decoder.norms import with_head_norms
from patterns.decoder.stored import TABLE
from patterns.decoder.windows import with_windows
from patterns.graph_file.draft import Draft

ARCHITECTURES = ("Qwen3MoeForCausalLM",)
MODEL_TYPES = ("qwen3_moe", "qwen3_vl_moe_text")
SOURCE = "Yang et al., Qwen3 Technical Report, arXiv 2505.09388, section 2"
_MLP = "model.layers.{layer}.mlp"
_EXPERT = f"{_MLP}.experts.{{expert}}"
STORED = {
    **TABLE,
    "w_router": stored(f"{_MLP}.gate.weight", "experts", "hidden"),
    "w_gate": stored(f"{_EXPERT}.gate_proj.weight", "expert_ffn", "hidden"),
    "w_up": stored(f"{_EXPERT}.up_proj.weight", "expert_ffn", "hidden"),
    "w_down": stored(f"{_EXPERT}.down_proj.weight", "hidden", "expert_ffn"),
}


class QwenExpertsConfig(NarrowExpertsConfig):
    """Experts as Qwen's configs tell of them: in every layer. Some writers call their number num_local_experts."""

    num_experts: Count | None = None
    num_local_experts: Count | None = None
    norm_topk_prob: bool = False
    decoder_sparse_step: Literal[1] = 1
    mlp_only_layers: list[int] | None = None

    @property
    def experts(self) -> int:
        """Experts of a layer, those that every token is given not counted."""
        return self.num_experts or self.num_local_experts or 0

    def mistakes(self) -> Iterator[tuple[str, str]]:
        """(field, message) of everything that does not fit together."""
        if not self.experts:
            yield "num_experts", "missing key 'num_experts'"
        if self.mlp_only_layers:
            yield "mlp_only_layers", "layers without experts are not supported here; supported: none ([])"
        yield from super().mistakes()


class Config(QwenExpertsConfig, qwen3.Config):
    """A Qwen3-MoE."""


def draft(config: Config) -> Draft:
    """Mixtral's graph with norms of queries and keys."""
    made = with_head_norms(decoder(config, "mixtral", **expert_extents(config)), config.rms_norm_eps)
    made = made if config.norm_topk_prob else with_shares_of_all(made)
    made = with_biases(made, ATTENTION) if config.attention_bias else made
    return with_windows(made, config.windows)
