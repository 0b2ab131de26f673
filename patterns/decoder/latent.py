"""Multi-head latent attention in the place of a decoder's grouped-query attention, as in the graph of mla_decode."""

from __future__ import annotations

from patterns.architecture import Count
from patterns.checkpoint.stored import stored
from patterns.decoder import BLOCK
from patterns.decoder.experts import ExpertsConfig
from patterns.graph_file.draft import Draft, library_draft

GRAPH = "mla_decode"
# What grouped-query attention has, and latent attention has not.
GROUPED_EXTENTS = ("model_kv_heads", "head_dim", "kv_heads", "group")
GROUPED_TENSORS = ("w_q", "w_k", "w_v", "w_o", "k_cache", "v_cache")
# Nodes that make the query from what is between the two matrices that make it.
SMALL_QUERY = ("q_down", "q_squares", "q_mean", "q_factor", "q_scaled", "q_normed")

_ATTENTION = "model.layers.{layer}.self_attn"
STORED = {
    "w_q_down": stored(f"{_ATTENTION}.q_a_proj.weight", "q_rank", "hidden"),
    "q_gain": stored(f"{_ATTENTION}.q_a_layernorm.weight", "q_rank"),
    "w_q": stored(f"{_ATTENTION}.q_b_proj.weight", "heads nope", "q_rank"),
    "w_q_rope": stored(f"{_ATTENTION}.q_b_proj.weight", "heads rope", "q_rank"),
    "w_q_whole": stored(f"{_ATTENTION}.q_proj.weight", "heads nope", "hidden"),
    "w_q_whole_rope": stored(f"{_ATTENTION}.q_proj.weight", "heads rope", "hidden"),
    "w_kv_down": stored(f"{_ATTENTION}.kv_a_proj_with_mqa.weight", "rank", "hidden"),
    "w_k_rope": stored(f"{_ATTENTION}.kv_a_proj_with_mqa.weight", "rope", "hidden"),
    "kv_gain": stored(f"{_ATTENTION}.kv_a_layernorm.weight", "rank"),
    "w_k_up": stored(f"{_ATTENTION}.kv_b_proj.weight", "heads nope", "rank"),
    "w_v_up": stored(f"{_ATTENTION}.kv_b_proj.weight", "heads value", "rank"),
    "w_o": stored(f"{_ATTENTION}.o_proj.weight", "hidden", "heads value"),
}


class LatentConfig(ExpertsConfig):
    """Widths of latent attention. q_lora_rank: null where one matrix makes the query."""

    q_lora_rank: Count | None = None
    kv_lora_rank: Count
    qk_nope_head_dim: Count
    qk_rope_head_dim: Count
    v_head_dim: Count

    @property
    def dims_a_head(self) -> int:
        """Dims of a head that have rotary positions."""
        return self.qk_rope_head_dim


def with_latent_attention(draft: Draft, config: LatentConfig) -> Draft:
    """The draft with latent attention, its matrices absorbed, on what the layer's norm made."""
    latent = library_draft(GRAPH).data
    tensors = {name: t for name, t in latent["tensors"].items() if t["role"] in ("weight", "state")}
    gone = _nodes_between(draft, "q", "o_sum")
    made = draft.without_extents(*GROUPED_EXTENTS)
    for name in GROUPED_TENSORS:
        made = made.without_tensor(name)
    made = made.extents(
        q_rank=config.q_lora_rank or 1,
        rank=config.kv_lora_rank,
        nope=config.qk_nope_head_dim,
        rope=config.qk_rope_head_dim,
        value=config.v_head_dim,
        latent="rank + rope",
    )
    for table in ("cos", "sin"):
        made = made.tensor(table, dims=latent["tensors"][table]["dims"])
    made = made.block_tensors(BLOCK, tensors).instead_nodes(gone, latent["nodes"])
    for node in ("q_factor", "kv_factor"):
        made = made.node(node, eps=config.rms_norm_eps)
    return made if config.q_lora_rank else _with_whole_query(made)


def _with_whole_query(draft: Draft) -> Draft:
    """One matrix that makes the query, instead of two with a norm between them."""
    made = draft.without_nodes(*SMALL_QUERY).reading({"q_normed": "attention_in"}).without_extents("q_rank")
    for name in ("w_q_down", "q_gain", "w_q", "w_q_rope"):
        made = made.without_tensor(name)
    made = made.weights(BLOCK, w_q_whole="hidden heads nope", w_q_whole_rope="hidden heads rope")
    made = made.reading({"w_q": "w_q_whole", "w_q_rope": "w_q_whole_rope"})
    return made.node("q", over=["hidden"]).node("q_rope", over=["hidden"])


def _nodes_between(draft: Draft, first: str, last: str) -> tuple[str, ...]:
    names = list(draft.data["blocks"][BLOCK]["nodes"])
    return tuple(names[names.index(first) : names.index(last) + 1])
