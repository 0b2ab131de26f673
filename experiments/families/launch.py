"""launch: what one of many small dependent kernels takes by the way it is launched, in us."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from experiments.validation.published import published
from experiments.validation.row import Row
from experiments.validation.tables import Tables

if TYPE_CHECKING:
    from experiments.validation.family import Part
    from gpu_model.machine import Machine

PART: Part = "launches"
# Kernels of one run: enough for what a graph pays once to be shared out, as in the measurement.
REPEATS = 1000


def rows(tables: Tables) -> Sequence[Row]:
    """A row a size, block and way to launch."""
    return [
        Row(
            id=figure.id,
            machine=figure.text("gpu"),
            predict=partial(kernel_us, figure.count("bytes_moved"), figure.text("launch")),
            measured=figure.value("us"),
            unit="us",
            source=figure.source,
            group=figure.text("launch"),
        )
        for figure in published("launch")
    ]


def kernel_us(bytes_moved: int, launch: str, machine: Machine) -> float:
    """Microseconds of one of REPEATS kernels that read and write the same vector, host and gaps included."""
    from experiments.validation.graphs import scalings
    from gpu_model import lower
    from patterns.dtypes import elements_in
    from patterns.run import run_plan

    graph = scalings(elements_in(bytes_moved // 2, "fp32"), REPEATS)
    execution = run_plan(lower(graph, machine, policy="pattern", launch=launch), spans=False)
    return execution.schedule.total_cycles / 1e6 / REPEATS
