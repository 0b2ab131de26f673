"""Norms that some decoders have where Llama has none: of every head's query and key, and after a sublayer."""

from __future__ import annotations

from patterns.decoder import BLOCK
from patterns.graph_file.draft import Draft

RMS_NORM = """
${x}_squares: {kind: map,    fn: square, reads: [${x}]}
${x}_mean:    {kind: reduce, fn: mean,   reads: [${x}_squares], over: [${over}]}
${x}_factor:  {kind: map,    fn: rsqrt,  reads: [${x}_mean], eps: ${eps}}
${x}_scaled:  {kind: zip,    fn: mul,    reads: [${x}, ${x}_factor]}
${x}_normed:  {kind: zip,    fn: mul,    reads: [${x}_scaled, ${gain}]}
"""


def with_head_norms(draft: Draft, eps: float) -> Draft:
    """Root-mean-square norms of every head's query and key, with one gain for all heads."""
    made = draft.weights(BLOCK, q_gain="head_dim", k_gain="head_dim")
    for x in ("q", "k"):
        made = made.after(x, RMS_NORM, x=x, over="head_dim", gain=f"{x}_gain", eps=repr(eps))
    return made


def with_post_norms(draft: Draft, eps: float) -> Draft:
    """Root-mean-square norms of what attention and the feed-forward network give to the residual stream."""
    made = draft.weights(BLOCK, post_attention_gain="hidden", post_ffn_gain="hidden")
    for x, gain in (("o_sum", "post_attention_gain"), ("down_sum", "post_ffn_gain")):
        made = made.after(x, RMS_NORM, x=x, over="hidden", gain=gain, eps=repr(eps))
    return made


def with_unit_gains(draft: Draft) -> Draft:
    """Gains as Gemma stores them: what is multiplied with is one more."""
    data = draft.data
    owners = (data, *data["blocks"].values())
    gains = [name for owner in owners for name in owner.get("tensors", {}) if name.endswith("_gain")]
    for gain in gains:
        draft = draft.before_readers(gain, "${x}_one: {kind: map, fn: shift, reads: [${x}], by: 1.0}", x=gain)
    return draft
