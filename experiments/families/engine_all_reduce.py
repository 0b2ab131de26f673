"""engine_all_reduce: sums over GPUs by the kernels of inference engines, replayed in a graph, in us.

Beside the calibrated sample: other engines, and other numbers of GPUs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

from experiments.families.all_reduce import predicted_us
from experiments.validation.published import published
from experiments.validation.row import Row
from experiments.validation.tables import Tables
from patterns.dtypes import elements_in

PART: Literal[""] = ""


def rows(tables: Tables) -> Sequence[Row]:
    """A row a figure."""
    return [
        Row(
            id=figure.id,
            machine=figure.text("gpu"),
            predict=partial(predicted_us, elements_in(figure.count("bytes"), "bf16"), figure.count("gpus")),
            measured=figure.value("us"),
            unit="us",
            source=figure.source,
            group=f"{figure.text('source')} x{figure.text('gpus')}",
        )
        for figure in published("engine_all_reduce")
    ]
