"""Rows of the database's attention tables: the call of one attention layer, whole prompts or one new token each.

bf16, no window. A row includes the kernels that write the cache and prepare the call (see kv_cache.py).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from experiments.validation.row import Row

if TYPE_CHECKING:
    from experiments.validation.samples import AttentionSample
    from gpu_model.machine import Machine

LIBRARY = "vllm"


def attention_row(sample: AttentionSample, tokens: str, seq: int, context: int) -> Row:
    """A sample as a row: `seq` new tokens of `context` in all for each sequence, in words `tokens`."""
    heads, kv_heads, head_dim = sample.heads, sample.kv_heads, sample.head_dim
    return Row(
        id=f"{sample.gpu} batch {sample.batch} {tokens} heads {heads}/{kv_heads} dim {head_dim}",
        machine=sample.gpu,
        predict=partial(attention_call_us, sample.batch, seq, context, heads, kv_heads, head_dim),
        measured=sample.latency_us,
        unit="us",
        source=f"{sample.library} {sample.kernel}".strip(),
        group=sample.kernel,
    )


def attention_call_us(
    batch: int, seq: int, context: int, heads: int, kv_heads: int, head_dim: int, machine: Machine
) -> float:
    """Microseconds of attention, where its cache is shared out with what combines the parts, and of what is beside it.

    Raises UserErrors.
    """
    from experiments.validation.graphs import attention
    from experiments.validation.kv_cache import beside_attention_us
    from experiments.validation.replay import replayed_us

    beside_us = beside_attention_us(batch * seq, kv_heads, head_dim, machine)
    return replayed_us(attention(batch, seq, context, heads, kv_heads, head_dim), machine) + beside_us
