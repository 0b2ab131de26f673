"""Biases of a decoder's matrix products, each added to what its product gives."""

from __future__ import annotations

from collections.abc import Mapping

from patterns.decoder import BLOCK
from patterns.graph_file.draft import Draft

# Of what a node gives: the dims of its bias. What members sum up gets its bias once, after the sum.
DIMS: Mapping[str, str] = {
    "q": "kv_heads group head_dim",
    "k": "kv_heads head_dim",
    "v": "kv_heads head_dim",
    "o_sum": "hidden",
    "gate": "ffn",
    "up": "ffn",
    "down_sum": "hidden",
}
ATTENTION_INPUTS = ("q", "k", "v")
ATTENTION = (*ATTENTION_INPUTS, "o_sum")
FEED_FORWARD = ("gate", "up", "down_sum")


def with_biases(draft: Draft, nodes: tuple[str, ...]) -> Draft:
    """Biases added to what these nodes give, before whatever was put after them earlier."""
    for node in nodes:
        bias = f"b_{node.removesuffix('_sum')}"
        draft = draft.weights(BLOCK, **{bias: DIMS[node]})
        draft = draft.after(node, "${x}_biased: {kind: zip, fn: add, reads: [${x}, ${bias}]}", x=node, bias=bias)
    return draft
