"""What the database's attention rows hold beside attention: the kernels that write the cache and prepare the call.

A row is the time of an attention layer's call. Two of its kernels are none of the model's attention: one writes the
new tokens' keys and values into the cache, with a CTA for every token; others prepare lengths and the plan of splits.
The bytes are the model's; the two constants are read off the calibration rows, like the conditions of any measurement.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from experiments.validation.graphs import resized
from experiments.validation.replay import replayed_us
from patterns.read import parse_graph

if TYPE_CHECKING:
    from gpu_model.machine import Machine
    from patterns.graph import Graph

# Fitted to vLLM's 566 prefill and 588 decode rows of an H100: small kernels whose work does not grow with the tokens.
PREPARED_US = 6.0
# Fitted to the prefill rows: how fast CTAs of one token each come and go on the whole GPU.
CTA_US = 1.2e-3
CACHE_WRITE = """
name: cache_write
extents: {tokens: 1, slots: 1, kv_heads: 1, head_dim: 1}
tensors:
  k_cache: {dims: [slots, kv_heads, head_dim], dtype: bf16, role: state}
  v_cache: {dims: [slots, kv_heads, head_dim], dtype: bf16, role: state}
  places:  {dims: [tokens], dtype: int32, role: input}
  k:       {dims: [tokens, kv_heads, head_dim], dtype: bf16, role: input}
  v:       {dims: [tokens, kv_heads, head_dim], dtype: bf16, role: input}
nodes:
  k_written: {kind: scatter, fn: set, reads: [k_cache, places, k], along: slots}
  v_written: {kind: scatter, fn: set, reads: [v_cache, places, v], along: slots}
"""


def beside_attention_us(tokens: int, kv_heads: int, head_dim: int, machine: Machine) -> float:
    """Microseconds of the other kernels of an attention row with so many new tokens."""
    graph = resized(cache_write(), {"tokens": tokens, "slots": tokens, "kv_heads": kv_heads, "head_dim": head_dim})
    return PREPARED_US + tokens * CTA_US + replayed_us(graph, machine)


@cache
def cache_write() -> Graph:
    """Keys and values of new tokens, each written to its place."""
    return parse_graph(CACHE_WRITE)
