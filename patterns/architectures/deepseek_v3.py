"""DeepSeek-V3 and R1: latent attention, and narrow experts of which some are given every token, after dense layers.

The part that predicts a further token (num_nextn_predict_layers) is no part of a run, and left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from patterns.architecture import Absent, Count
from patterns.checkpoint.stored import stored
from patterns.decoder import BLOCK
from patterns.decoder.draft import decoder
from patterns.decoder.experts import NarrowExpertsConfig, expert_extents, with_shared_expert
from patterns.decoder.latent import STORED as LATENT
from patterns.decoder.latent import LatentConfig, with_latent_attention
from patterns.decoder.layers import with_layers
from patterns.decoder.routing import with_routing
from patterns.decoder.stored import TABLE
from patterns.graph_file.draft import Draft

ARCHITECTURES = ("DeepseekV3ForCausalLM",)
MODEL_TYPES = ("deepseek_v3",)
SOURCE = "DeepSeek-AI, DeepSeek-V3 Technical Report, arXiv 2412.19437, section 2.1"
_MLP = "model.layers.{layer}.mlp"
_EXPERT, _SHARED = f"{_MLP}.experts.{{expert}}", f"{_MLP}.shared_experts"
STORED = {
    **{name: held for name, held in TABLE.items() if name not in ("w_q", "w_k", "w_v", "w_o")},
    **LATENT,
    "w_dense_gate": TABLE["w_gate"],
    "w_dense_up": TABLE["w_up"],
    "w_dense_down": TABLE["w_down"],
    "w_router": stored(f"{_MLP}.gate.weight", "experts", "hidden"),
    "router_bias": stored(f"{_MLP}.gate.e_score_correction_bias", "experts"),
    "w_gate": stored(f"{_EXPERT}.gate_proj.weight", "expert_ffn", "hidden"),
    "w_up": stored(f"{_EXPERT}.up_proj.weight", "expert_ffn", "hidden"),
    "w_down": stored(f"{_EXPERT}.down_proj.weight", "hidden", "expert_ffn"),
    "w_shared_gate": stored(f"{_SHARED}.gate_proj.weight", "shared_ffn", "hidden"),
    "w_shared_up": stored(f"{_SHARED}.up_proj.weight", "shared_ffn", "hidden"),
    "w_shared_down": stored(f"{_SHARED}.down_proj.weight", "hidden", "shared_ffn"),
}

DENSE = """
gate:      {kind: mm,  reads: [ffn_in, w_dense_gate], over: [hidden]}
up:        {kind: mm,  reads: [ffn_in, w_dense_up], over: [hidden]}
activated: {kind: map, fn: silu, reads: [gate]}
gated:     {kind: zip, fn: mul,  reads: [activated, up]}
down:      {kind: mm,  reads: [gated, w_dense_down], over: [ffn]}
"""
_OF_EXPERTS = ("w_router", "router_bias", "w_gate", "w_up", "w_down", "w_shared_gate", "w_shared_up", "w_shared_down")
_OF_DENSE = {"w_dense_gate": "hidden ffn", "w_dense_up": "hidden ffn", "w_dense_down": "ffn hidden"}


class Config(NarrowExpertsConfig, LatentConfig):
    """A DeepSeek-V3."""

    n_routed_experts: Count
    n_shared_experts: Count
    first_k_dense_replace: int = Field(default=3, ge=0)
    moe_layer_freq: Literal[1] = 1
    n_group: Count | None = 8
    topk_group: Count | None = 4
    norm_topk_prob: bool = True
    routed_scaling_factor: float = 2.5
    scoring_func: Literal["sigmoid", "softmax"] = "sigmoid"
    topk_method: Literal["noaux_tc", "group_limited_greedy", "greedy"] = "noaux_tc"
    attention_bias: Absent = False

    @property
    def experts(self) -> int:
        """Experts of a layer, those that every token is given not counted."""
        return self.n_routed_experts

    @property
    def groups(self) -> tuple[int, int, int]:
        """Groups of experts, those that are chosen, and by how many of its best a group is judged."""
        if self.topk_method == "greedy" or self.n_group is None:
            return (1, 1, 1)
        return (self.n_group, self.topk_group or self.n_group, 2 if self.topk_method == "noaux_tc" else 1)

    def mistakes(self) -> Iterator[tuple[str, str]]:
        """(field, message) of everything that does not fit together."""
        many, chosen, best = self.groups
        if self.experts % many:
            yield "n_group", f"{many} groups do not divide {self.experts} experts"
        elif chosen > many or self.num_experts_per_tok > chosen * (self.experts // many) or best > self.experts // many:
            yield (
                "topk_group",
                f"{chosen} of {many} groups of {self.experts // many} experts are chosen, which is no choice",
            )
        if self.first_k_dense_replace >= self.num_hidden_layers:
            yield "first_k_dense_replace", "no layer has experts"
        yield from super().mistakes()


def draft(config: Config) -> Draft:
    """Mixtral's graph with latent attention, DeepSeek's routing, experts for all tokens, and dense layers first."""
    made = with_latent_attention(decoder(config, "mixtral", **expert_extents(config)), config)
    made = with_routing(
        made,
        sigmoid=config.scoring_func == "sigmoid",
        balanced=config.topk_method == "noaux_tc",
        groups=config.groups,
        normed=config.norm_topk_prob,
        factor=config.routed_scaling_factor,
    )
    made = with_shared_expert(made, config.n_shared_experts * config.moe_intermediate_size, weighted=False)
    made = made.extents(model_ffn=config.intermediate_size, ffn="model_ffn / tensor_parallel")
    dense = config.first_k_dense_replace
    return with_layers(made, [_dense] * dense + [_with_experts] * (config.num_hidden_layers - dense))


def _with_experts(draft: Draft) -> Draft:
    return draft


def _dense(draft: Draft) -> Draft:
    """A layer with an MLP instead of experts."""
    names = list(draft.data["blocks"][BLOCK]["nodes"])
    made = draft.instead(names[names.index("router") : names.index("down_all") + 1], DENSE)
    # Only a balanced router has a bias.
    for name in (name for name in _OF_EXPERTS if name in draft.data["blocks"][BLOCK]["tensors"]):
        made = made.without_tensor(name)
    return made.weights(BLOCK, **_OF_DENSE).reading({"down_all": "down"})
