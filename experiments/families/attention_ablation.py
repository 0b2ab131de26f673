"""attention_ablation: what the parts of FlashAttention-3 bring, each run by a schedule of its own, in TFLOP/s.

fp16, head dim 128, not causal, H100 at a fixed 1830 MHz.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

from experiments.validation.flash_attention import FIXED_CLOCK, GPU, attention_tflops
from experiments.validation.published import published
from experiments.validation.row import Row
from experiments.validation.tables import Tables

PART: Literal[""] = ""


def rows(tables: Tables) -> Sequence[Row]:
    """A row a run."""
    return [
        Row(
            id=figure.id,
            machine=GPU,
            predict=partial(
                attention_tflops,
                figure.count("batch"),
                figure.count("tokens"),
                figure.count("heads"),
                figure.count("head_dim"),
                False,
                "fp16",
                f"attention_{figure.text('overlap')}",
            ),
            measured=figure.value("tflops_per_s"),
            unit="TFLOP/s",
            source=figure.source,
            group=figure.text("overlap"),
            settings=FIXED_CLOCK,
        )
        for figure in published("attention_ablation")
    ]
