"""flash_attention_2: FlashAttention-2 forward on the H100, fp16, in TFLOP/s: mma.sync, loads by the computing warps.

From the FlashAttention-3 paper, at a fixed clock of 1830 MHz.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from experiments.validation.flash_attention import flash_attention_rows
from experiments.validation.row import Row
from experiments.validation.tables import Tables

PART: Literal[""] = ""
SCHEDULE = "flash_attention_2"


def rows(tables: Tables) -> Sequence[Row]:
    """A row a figure, by the schedule of that name."""
    return flash_attention_rows("fa2", SCHEDULE)
