"""attention_decode: one new token a sequence against its cache, FlashAttention-3 in vLLM (its FlashInfer on Blackwell).

From the database's newest vllm generation_attention table: bf16, no window. `step` tokens are in the cache already.
A row includes the kernels that write the cache and prepare the call (see kv_cache.py): they are added to the attention.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from experiments.validation.row import Row
from experiments.validation.tables import Tables

if TYPE_CHECKING:
    from experiments.validation.family import Part
    from experiments.validation.samples import AttentionSample
    from gpu_model.machine import Machine

PART: Part = "attention"
LIBRARY = "vllm"


def rows(tables: Tables) -> Sequence[Row]:
    """A row a sample. Raises UserError."""
    from experiments.validation.samples import attention_samples

    return [_row(sample) for sample in attention_samples(tables, LIBRARY, "generation")]


def _row(sample: AttentionSample) -> Row:
    shape = (sample.batch, sample.step, sample.heads, sample.kv_heads, sample.head_dim)
    return Row(
        family="attention_decode",
        id=f"{sample.gpu} batch {shape[0]} cached {shape[1]} heads {shape[2]}/{shape[3]} dim {shape[4]}",
        gpu=sample.gpu,
        predict=partial(predicted_us, *shape),
        measured=sample.latency_us,
        unit="us",
        source=f"{sample.library} {sample.kernel}".strip(),
        group=sample.kernel,
    )


def predicted_us(batch: int, cached: int, heads: int, kv_heads: int, head_dim: int, machine: Machine) -> float:
    """The attention kernel, where its cache is shared out the one that combines the parts, and those beside them."""
    from experiments.validation.graphs import attention
    from experiments.validation.kv_cache import beside_attention_us
    from experiments.validation.replay import replayed_us

    beside_us = beside_attention_us(batch, kv_heads, head_dim, machine)
    return replayed_us(attention(batch, 1, cached + 1, heads, kv_heads, head_dim), machine) + beside_us
