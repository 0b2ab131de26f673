"""nccl_all_reduce: NCCL's all-reduce, launched one by one, in us: a general library beside the model's own kernels.

Published figures over 8 GPUs, and the database's newest nccl table.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from experiments.validation.published import published
from experiments.validation.row import Row
from experiments.validation.tables import Tables
from patterns.dtypes import elements_in

if TYPE_CHECKING:
    from experiments.validation.samples import AllReduceSample
    from gpu_model.machine import Machine

PART: Literal[""] = ""


def rows(tables: Tables) -> Sequence[Row]:
    """A row a figure, then one a sample. Raises UserError."""
    from experiments.validation.samples import nccl_samples

    return [*_published(), *(_row(sample) for sample in nccl_samples(tables))]


def _row(sample: AllReduceSample) -> Row:
    return Row(
        id=f"{sample.gpu} {sample.members} GPUs {sample.elements} elements",
        machine=sample.gpu,
        predict=partial(stream_us, sample.elements, sample.members),
        measured=sample.latency_us,
        unit="us",
        source=sample.library,
        group=f"{sample.members} GPUs",
    )


def _published() -> list[Row]:
    return [
        Row(
            id=figure.id,
            machine=figure.text("gpu"),
            predict=partial(stream_us, elements_in(figure.count("bytes"), "bf16"), figure.count("gpus")),
            measured=figure.value("us"),
            unit="us",
            source=figure.source,
            group=figure.text("source"),
        )
        for figure in published("nccl_all_reduce")
    ]


def stream_us(elements: int, members: int, machine: Machine) -> float:
    """Microseconds of one all_reduce and its launch."""
    from experiments.validation.graphs import all_reduce
    from gpu_model import lower
    from patterns.run import run_plan

    plan = lower(all_reduce(elements, members), machine, launch="stream", members=members)
    return run_plan(plan, spans=False).schedule.total_cycles / 1e6
