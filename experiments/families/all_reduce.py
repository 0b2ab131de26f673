"""all_reduce: the sum of a tensor over GPUs of one NVLink domain, TensorRT-LLM's own one-shot and two-shot kernels.

From the database's newest trtllm custom_allreduce table: bf16, sizes in elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from experiments.validation.row import Row
from experiments.validation.tables import Tables

if TYPE_CHECKING:
    from experiments.validation.family import Part
    from experiments.validation.samples import AllReduceSample
    from gpu_model.machine import Machine

PART: Part = "collectives"
FITTED = tuple((machine, f"{members} GPUs") for machine in ("b200", "h100_sxm") for members in (2, 8))
LIBRARY = "trtllm"


def rows(tables: Tables) -> Sequence[Row]:
    """A row a sample. Raises UserError."""
    from experiments.validation.samples import all_reduce_samples

    return [_row(sample) for sample in all_reduce_samples(tables, LIBRARY)]


def _row(sample: AllReduceSample) -> Row:
    return Row(
        id=f"{sample.gpu} {sample.members} GPUs {sample.elements} elements",
        machine=sample.gpu,
        predict=partial(predicted_us, sample.elements, sample.members),
        measured=sample.latency_us,
        unit="us",
        source=sample.library,
        group=f"{sample.members} GPUs",
    )


def predicted_us(elements: int, members: int, machine: Machine) -> float:
    """The kernels of one all_reduce."""
    from experiments.validation.graphs import all_reduce
    from experiments.validation.replay import replayed_us

    return replayed_us(all_reduce(elements, members), machine, members=members)
