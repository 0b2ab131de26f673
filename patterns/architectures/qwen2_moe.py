"""Qwen1.5-MoE and Qwen2-MoE: Qwen2's attention, and experts of which one is given every token."""

from __future__ import annotations

from patterns.architecture import Count
from patterns.architectures import qwen2, qwen3_moe
from patterns.checkpoint.stored import stored
from patterns.decoder.biases import ATTENTION_INPUTS, with_biases
from patterns.decoder.draft import decoder
from patterns.decoder.experts import expert_extents, with_shared_expert, with_shares_of_all
from patterns.decoder.windows import with_windows
from patterns.graph_file.draft import Draft

ARCHITECTURES = ("Qwen2MoeForCausalLM",)
MODEL_TYPES = ("qwen2_moe",)
SOURCE = "Yang et al., Qwen2 Technical Report, arXiv 2407.10671, section 2.2.2"
_MLP = "model.layers.{layer}.mlp"
STORED = {
    **qwen3_moe.STORED,
    "w_shared_gate": stored(f"{_MLP}.shared_expert.gate_proj.weight", "shared_ffn", "hidden"),
    "w_shared_up": stored(f"{_MLP}.shared_expert.up_proj.weight", "shared_ffn", "hidden"),
    "w_shared_down": stored(f"{_MLP}.shared_expert.down_proj.weight", "hidden", "shared_ffn"),
    "w_shared_score": stored(f"{_MLP}.shared_expert_gate.weight", "", "hidden"),
}


class Config(qwen3_moe.QwenExpertsConfig, qwen2.Config):
    """A Qwen2-MoE."""

    shared_expert_intermediate_size: Count
    qkv_bias: bool = True

    def unshared(self, members: int) -> str:
        """What so many members cannot share."""
        shared = self.shared_expert_intermediate_size
        return f"shared_expert_intermediate_size {shared}" if shared % members else super().unshared(members)


def draft(config: Config) -> Draft:
    """Mixtral's graph with biases and an expert that every token is given."""
    made = decoder(config, "mixtral", **expert_extents(config))
    made = made if config.norm_topk_prob else with_shares_of_all(made)
    made = with_shared_expert(made, config.shared_expert_intermediate_size, weighted=True)
    made = with_biases(made, ATTENTION_INPUTS) if config.qkv_bias else made
    return with_windows(made, config.windows)
