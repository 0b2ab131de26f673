"""engine_all_reduce: sums over GPUs by the kernels of inference engines, replayed in a graph, in us.

Beside the calibrated sample: other engines, and other numbers of GPUs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from experiments.validation.published import published
from experiments.validation.row import Row
from experiments.validation.tables import Tables

if TYPE_CHECKING:
    from gpu_model.machine import Machine

PART: Literal[""] = ""
BF16_BYTES = 2


def rows(tables: Tables) -> Sequence[Row]:
    """A row a figure."""
    return [
        Row(
            family="engine_all_reduce",
            id=figure.id,
            gpu=figure.text("gpu"),
            predict=partial(graph_us, figure.count("bytes") // BF16_BYTES, figure.count("gpus")),
            measured=figure.value("us"),
            unit="us",
            source=figure.source,
            group=f"{figure.text('source')} x{figure.text('gpus')}",
        )
        for figure in published("engine_all_reduce")
    ]


def graph_us(elements: int, members: int, machine: Machine) -> float:
    """Microseconds of one all_reduce in a replayed graph."""
    from experiments.validation.graphs import all_reduce
    from experiments.validation.replay import replayed_us

    return replayed_us(all_reduce(elements, members), machine, members=members)
