"""gemm: matrix products one by one, as TensorRT-LLM's cuBLASLt runs them in a replayed graph.

From the database's newest trtllm table. Rows in fp8 include the kernels that quantise the input. Boost clock;
weights are not in the L2. Between releases of the library, bf16 differs by 3.4 % at the median: less is noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from experiments.validation.row import Row
from experiments.validation.tables import Tables

if TYPE_CHECKING:
    from experiments.validation.family import Part
    from experiments.validation.samples import GemmSample
    from gpu_model.machine import Machine

PART: Part = "gemm"
LIBRARY = "trtllm"


def rows(tables: Tables) -> Sequence[Row]:
    """A row a sample. Raises UserError."""
    from experiments.validation.samples import gemm_samples

    return [_row(sample) for sample in gemm_samples(tables, LIBRARY)]


def _row(sample: GemmSample) -> Row:
    return Row(
        family="gemm",
        id=f"{sample.gpu} {sample.dtype} {sample.m}x{sample.n}x{sample.k}",
        gpu=sample.gpu,
        predict=partial(predicted_us, sample.m, sample.n, sample.k, sample.dtype),
        measured=sample.latency_us,
        unit="us",
        source=sample.library,
        group=sample.dtype,
    )


def predicted_us(m: int, n: int, k: int, dtype: str, machine: Machine) -> float:
    """The kernel of one product, and in fp8 those that quantise its input."""
    from experiments.validation.graphs import gemm
    from experiments.validation.replay import replayed_us

    return replayed_us(gemm(m, n, k, dtype), machine)
