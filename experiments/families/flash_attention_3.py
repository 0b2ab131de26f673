"""flash_attention_3: FlashAttention-3 forward on the H100 as its paper measures it, fp16 and fp8, in TFLOP/s.

The paper's runs are at a fixed clock of 1830 MHz, which the rows set; those of another publication are at boost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.validation.flash_attention import flash_attention_rows
from experiments.validation.row import Row
from experiments.validation.tables import Tables

if TYPE_CHECKING:
    from experiments.validation.family import Part

PART: Part = "attention"


def rows(tables: Tables) -> Sequence[Row]:
    """A row a figure; the model chooses the schedule."""
    return flash_attention_rows("fa3", "auto")
