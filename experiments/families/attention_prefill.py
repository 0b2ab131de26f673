"""attention_prefill: causal self-attention of whole prompts, FlashAttention-3 in vLLM (its FlashInfer on Blackwell).

From the database's newest vllm context_attention table: bf16, no window. A row includes the kernels that write the
cache and prepare the call (see kv_cache.py), which are added to the attention's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.validation.attention_row import LIBRARY, attention_row
from experiments.validation.row import Row
from experiments.validation.tables import Tables

if TYPE_CHECKING:
    from experiments.validation.family import Part

PART: Part = "attention"
FITTED = (("h100_sxm", "vllm_flash_attn_fa3"),)


def rows(tables: Tables) -> Sequence[Row]:
    """A row a sample. Raises UserError."""
    from experiments.validation.samples import attention_samples

    samples = attention_samples(tables, LIBRARY, "context")
    return [attention_row(one, f"tokens {one.isl}", one.isl, one.isl) for one in samples]
