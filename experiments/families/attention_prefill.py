"""attention_prefill: causal self-attention of whole prompts, FlashAttention-3 in vLLM (its FlashInfer on Blackwell).

From the database's newest vllm context_attention table: bf16, no window. A row includes about 10 us of kernels that
write the cache and the metadata, which the model does not have: they are added as a constant (CACHE_WRITE_US).
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
# What the rows hold beside the attention itself, by their own description.
CACHE_WRITE_US = 10.0


def rows(tables: Tables) -> Sequence[Row]:
    """A row a sample. Raises UserError."""
    from experiments.validation.samples import attention_samples

    return [_row(sample) for sample in attention_samples(tables, LIBRARY, "context")]


def _row(sample: AttentionSample) -> Row:
    shape = (sample.batch, sample.isl, sample.heads, sample.kv_heads, sample.head_dim)
    return Row(
        family="attention_prefill",
        id=f"{sample.gpu} batch {shape[0]} tokens {shape[1]} heads {shape[2]}/{shape[3]} dim {shape[4]}",
        gpu=sample.gpu,
        predict=partial(predicted_us, *shape),
        measured=sample.latency_us,
        unit="us",
        source=f"{sample.library} {sample.kernel}".strip(),
        group=sample.kernel,
    )


def predicted_us(batch: int, tokens: int, heads: int, kv_heads: int, head_dim: int, machine: Machine) -> float:
    """The attention kernels, and the constant that the measurements have beside them."""
    from experiments.validation.graphs import attention
    from experiments.validation.replay import replayed_us

    return replayed_us(attention(batch, tokens, tokens, heads, kv_heads, head_dim), machine) + CACHE_WRITE_US
