"""Names and axes of a decoder's weights in checkpoints, as Llama has them; matrices are [outputs, inputs]."""

from __future__ import annotations

from collections.abc import Mapping

from patterns.checkpoint.stored import Stored, stored

_LAYER = "model.layers.{layer}"
_ATTENTION, _MLP = f"{_LAYER}.self_attn", f"{_LAYER}.mlp"

TABLE: Mapping[str, Stored] = {
    "embedding": stored("model.embed_tokens.weight", "vocabulary", "hidden"),
    "attention_gain": stored(f"{_LAYER}.input_layernorm.weight", "hidden"),
    "w_q": stored(f"{_ATTENTION}.q_proj.weight", "kv_heads group head_dim", "hidden"),
    "w_k": stored(f"{_ATTENTION}.k_proj.weight", "kv_heads head_dim", "hidden"),
    "w_v": stored(f"{_ATTENTION}.v_proj.weight", "kv_heads head_dim", "hidden"),
    "w_o": stored(f"{_ATTENTION}.o_proj.weight", "hidden", "kv_heads group head_dim"),
    "b_q": stored(f"{_ATTENTION}.q_proj.bias", "kv_heads group head_dim"),
    "b_k": stored(f"{_ATTENTION}.k_proj.bias", "kv_heads head_dim"),
    "b_v": stored(f"{_ATTENTION}.v_proj.bias", "kv_heads head_dim"),
    "b_o": stored(f"{_ATTENTION}.o_proj.bias", "hidden"),
    "q_gain": stored(f"{_ATTENTION}.q_norm.weight", "head_dim"),
    "k_gain": stored(f"{_ATTENTION}.k_norm.weight", "head_dim"),
    "ffn_gain": stored(f"{_LAYER}.post_attention_layernorm.weight", "hidden"),
    "w_gate": stored(f"{_MLP}.gate_proj.weight", "ffn", "hidden"),
    "w_up": stored(f"{_MLP}.up_proj.weight", "ffn", "hidden"),
    "w_down": stored(f"{_MLP}.down_proj.weight", "hidden", "ffn"),
    "b_gate": stored(f"{_MLP}.gate_proj.bias", "ffn"),
    "b_up": stored(f"{_MLP}.up_proj.bias", "ffn"),
    "b_down": stored(f"{_MLP}.down_proj.bias", "hidden"),
    "final_gain": stored("model.norm.weight", "hidden"),
    "head": stored("lm_head.weight", "vocabulary", "hidden"),
}
