"""Phi-1, Phi-1.5 and Phi-2: attention and a plain MLP side by side on one layer norm, everything with biases."""

from __future__ import annotations

from typing import ClassVar

from patterns.architecture import Absent
from patterns.checkpoint.stored import stored
from patterns.decoder import BLOCK
from patterns.decoder.biases import ATTENTION, with_biases
from patterns.decoder.config import DecoderConfig
from patterns.decoder.draft import decoder
from patterns.decoder.stored import TABLE
from patterns.graph_file.draft import Draft

ARCHITECTURES = ("PhiForCausalLM",)
MODEL_TYPES = ("phi",)
SOURCE = "Li et al., Textbooks Are All You Need II, arXiv 2309.05463, section 2.1"
_LAYER = "model.layers.{layer}"
_NOT_SO = ("b_gate", "w_gate", "q_gain", "k_gain", "ffn_gain")
STORED = {
    **{name: held for name, held in TABLE.items() if name not in _NOT_SO},
    "attention_bias": stored(f"{_LAYER}.input_layernorm.bias", "hidden"),
    "w_o": stored(f"{_LAYER}.self_attn.dense.weight", "hidden", "kv_heads group head_dim"),
    "b_o": stored(f"{_LAYER}.self_attn.dense.bias", "hidden"),
    "w_up": stored(f"{_LAYER}.mlp.fc1.weight", "ffn", "hidden"),
    "b_up": stored(f"{_LAYER}.mlp.fc1.bias", "ffn"),
    "w_down": stored(f"{_LAYER}.mlp.fc2.weight", "hidden", "ffn"),
    "b_down": stored(f"{_LAYER}.mlp.fc2.bias", "hidden"),
    "final_gain": stored("model.final_layernorm.weight", "hidden"),
    "final_bias": stored("model.final_layernorm.bias", "hidden"),
    "head_bias": stored("lm_head.bias", "vocabulary"),
}

LAYER_NORM = """
${at}_mean:     {kind: reduce, fn: mean,   reads: [${x}], over: [hidden]}
${at}_centred:  {kind: zip,    fn: sub,    reads: [${x}, ${at}_mean]}
${at}_squares:  {kind: map,    fn: square, reads: [${at}_centred]}
${at}_variance: {kind: reduce, fn: mean,   reads: [${at}_squares], over: [hidden]}
${at}_factor:   {kind: map,    fn: rsqrt,  reads: [${at}_variance], eps: ${eps}}
${at}_normal:   {kind: zip,    fn: mul,    reads: [${at}_centred, ${at}_factor]}
${at}_scaled:   {kind: zip,    fn: mul,    reads: [${at}_normal, ${at}_gain]}
${at}_in:       {kind: zip,    fn: add,    reads: [${at}_scaled, ${at}_bias]}
"""
MLP = """
up:        {kind: mm,  reads: [attention_in, w_up], over: [hidden]}
activated: {kind: map, fn: gelu, reads: [up]}
"""


class Config(DecoderConfig):
    """A Phi."""

    hidden_act: str = "gelu_new"
    layer_norm_eps: float = 1e-5
    partial_rotary_factor: float | None = 0.5
    qk_layernorm: Absent = False

    ACTIVATIONS: ClassVar[tuple[str, ...]] = ("gelu_new",)


def draft(config: Config) -> Draft:
    """Llama's graph with Phi's differences."""
    made = decoder(config)
    for at, x in (("attention", "stream"), ("final", "final_stream")):
        made = made.instead(_norm(at), LAYER_NORM, at=at, x=x, eps=repr(config.layer_norm_eps))
    made = made.weights(BLOCK, attention_bias="hidden").outer_weights(final_bias="hidden", head_bias="vocabulary")
    made = made.instead(("gate", "up", "activated", "gated"), MLP).reading({"gated": "activated"})
    made = made.without_nodes("middle", *_norm("ffn")).reading({"middle": "stream"})
    made = made.without_tensor("w_gate").without_tensor("ffn_gain")
    made = with_biases(made, (*ATTENTION, "up", "down_sum"))
    made = made.after("logits", "logits_biased: {kind: zip, fn: add, reads: [logits, head_bias]}")
    return _side_by_side(made)


def _norm(at: str) -> tuple[str, ...]:
    return tuple(f"{at}_{part}" for part in ("squares", "mean", "factor", "scaled", "in"))


def _side_by_side(draft: Draft) -> Draft:
    """The draft whose layers give the residual stream attention and MLP together."""
    both = "both: {kind: zip, fn: add, reads: [o_sum_biased, down_sum_biased]}"
    return draft.after("down_sum_biased", both)
