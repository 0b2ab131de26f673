"""framework_kernels: elementwise kernels of a serving framework of 2023, in us; the model's kernels are tuned ones.

Tells what untuned kernels lose: the model is expected to be below these.
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


def rows(tables: Tables) -> Sequence[Row]:
    """A row a figure."""
    return [
        Row(
            id=figure.id,
            machine=figure.text("gpu"),
            predict=partial(kernel_us, figure.text("op"), figure.count("tokens"), figure.count("columns")),
            measured=figure.value("us"),
            unit="us",
            source=figure.source,
            group=figure.text("op"),
        )
        for figure in published("framework_kernels")
    ]


def kernel_us(op: str, tokens: int, columns: int, machine: Machine) -> float:
    """Microseconds of the kernel alone, in fp16."""
    from experiments.validation.graphs import of_dtype, resized, row_kernel
    from experiments.validation.replay import replayed_us

    graph = of_dtype(row_kernel(op), "fp16")
    return replayed_us(resized(graph, {"rows": tokens, "hidden": columns}), machine, gaps=False)
