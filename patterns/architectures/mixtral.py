"""Mixtral: Mistral's layers with a mixture of experts."""

from __future__ import annotations

from patterns.architecture import Count
from patterns.checkpoint.stored import stored
from patterns.decoder.draft import decoder
from patterns.decoder.experts import ExpertsConfig, expert_extents
from patterns.decoder.stored import TABLE
from patterns.decoder.windows import WindowedConfig, with_windows
from patterns.graph_file.draft import Draft

ARCHITECTURES = ("MixtralForCausalLM",)
MODEL_TYPES = ("mixtral",)
SOURCE = "Jiang et al., Mixtral of Experts, arXiv 2401.04088, section 2"
_MOE = "model.layers.{layer}.block_sparse_moe"
_EXPERT = f"{_MOE}.experts.{{expert}}"
STORED = {
    **TABLE,
    "w_router": stored(f"{_MOE}.gate.weight", "experts", "hidden"),
    "w_gate": stored(f"{_EXPERT}.w1.weight", "expert_ffn", "hidden"),
    "w_up": stored(f"{_EXPERT}.w3.weight", "expert_ffn", "hidden"),
    "w_down": stored(f"{_EXPERT}.w2.weight", "hidden", "expert_ffn"),
}


class Config(ExpertsConfig, WindowedConfig):
    """A Mixtral."""

    num_local_experts: Count
    rms_norm_eps: float = 1e-5

    @property
    def experts(self) -> int:
        """Experts of a layer."""
        return self.num_local_experts


def draft(config: Config) -> Draft:
    """Mixtral's graph."""
    made = decoder(config, "mixtral", **expert_extents(config))
    return with_windows(made, config.windows)
