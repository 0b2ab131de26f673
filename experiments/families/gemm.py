"""gemm: matrix products one by one, as TensorRT-LLM's cuBLASLt runs them in a replayed graph.

From the database's newest trtllm table. Boost clock; weights are not in the L2, and the input, which is the same in
every replay, is as far as the L2 can keep it. Between releases of the library, bf16 differs by 3.4 % at the median:
less is noise. Rows in fp8 include the kernels that quantise the input, which are the framework's and not tuned: they
take QUANTIZE_SLOWDOWN times what the model's would, and QUANTIZE_FIXED_US (clearing the scale, atomic maxima of 1,024
blocks). Both were chosen by hand on samples in fp8 of the H100 and H200, 457 rows; the B200, whose rows take longer
still, has no numbers of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from experiments.validation.row import Row
from experiments.validation.tables import Tables

if TYPE_CHECKING:
    from experiments.validation.family import Part
    from experiments.validation.samples import GemmSample
    from gpu_model.machine import Machine

PART: Part = "gemm"
FITTED = (
    ("a100_sxm", "bf16"),
    ("b200", "bf16"),
    ("h100_sxm", "bf16"),
    ("h100_sxm", "fp8"),
    ("h200", "fp8"),
)
QUANTIZE_FIXED_US = 6.0
QUANTIZE_SLOWDOWN = 1.4
PRODUCT, INPUT = "c", "a"
LIBRARY = "trtllm"


def rows(tables: Tables) -> Sequence[Row]:
    """A row a sample. Raises UserError."""
    from experiments.validation.samples import gemm_samples

    return [_row(sample) for sample in gemm_samples(tables, LIBRARY)]


def left_out(tables: Tables) -> Mapping[str, int]:
    """Rows of dtypes that the model does not have. Raises UserError."""
    from experiments.validation.samples import gemms_of_other_dtypes

    return gemms_of_other_dtypes(tables, LIBRARY)


def _row(sample: GemmSample) -> Row:
    return Row(
        id=f"{sample.gpu} {sample.dtype} {sample.m}x{sample.n}x{sample.k}",
        machine=sample.gpu,
        predict=partial(predicted_us, sample.m, sample.n, sample.k, sample.dtype),
        measured=sample.latency_us,
        unit="us",
        source=sample.library,
        group=sample.dtype,
    )


def predicted_us(m: int, n: int, k: int, dtype: str, machine: Machine) -> float:
    """The kernels of one product, and in fp8 those that quantise its input."""
    from experiments.validation.graphs import gemm
    from experiments.validation.replay import kernel_us
    from gpu_model import lower
    from patterns.count import tensor_bytes

    graph = gemm(m, n, k, dtype)
    options: dict[str, int | str] = {}
    if 0 < tensor_bytes(graph, INPUT) <= machine.l2_persisting_bytes:
        options["l2_keep"] = INPUT
    plan = lower(graph, machine, launch="graph", options=options)
    products = {call.name for call in plan.calls if PRODUCT in call.nodes}
    product_us = quantize_us = 0.0
    for call in plan.calls:
        if call.name in products or call.combines in products:
            product_us += kernel_us(plan, call)
        else:
            quantize_us += kernel_us(plan, call)
    if not quantize_us:
        return product_us
    return product_us + QUANTIZE_FIXED_US + QUANTIZE_SLOWDOWN * quantize_us
