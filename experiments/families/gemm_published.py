"""gemm_published: matrix products of cuBLAS one by one, in us as a profiler times them, or in TFLOP/s of long runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from experiments.validation.published import Figure, published
from experiments.validation.row import Row
from experiments.validation.tables import Tables

if TYPE_CHECKING:
    from gpu_model.machine import Machine

PART: Literal[""] = ""


def rows(tables: Tables) -> Sequence[Row]:
    """A row a figure."""
    return [_row(figure) for figure in published("gemm_published")]


def _row(figure: Figure) -> Row:
    unit = figure.text("unit")
    shape = (figure.count("m"), figure.count("n"), figure.count("k"), figure.text("dtype"))
    return Row(
        id=figure.id,
        machine=figure.text("gpu"),
        predict=partial(kernel_us if unit == "us" else tflops, *shape),
        measured=figure.value("value"),
        unit=unit,
        source=figure.source,
        group=f"{figure.text('source')} {figure.text('dtype')}",
    )


def tflops(m: int, n: int, k: int, dtype: str, machine: Machine) -> float:
    """TFLOP/s of products that are run again and again."""
    from experiments.validation.graphs import product
    from experiments.validation.replay import replayed_us

    return 2 * m * n * k / replayed_us(product(m, n, k, dtype), machine) / 1e6


def kernel_us(m: int, n: int, k: int, dtype: str, machine: Machine) -> float:
    """Microseconds of the kernel alone."""
    from experiments.validation.graphs import product
    from experiments.validation.replay import replayed_us

    return replayed_us(product(m, n, k, dtype), machine, gaps=False)
