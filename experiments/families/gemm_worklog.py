"""gemm_worklog: one large GEMM on the H100, faster step by step, each step by its own schedule, in TFLOP/s."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from experiments.validation.published import Figure, published
from experiments.validation.row import Row
from experiments.validation.tables import Tables

if TYPE_CHECKING:
    from gpu_model.machine import Machine

PART: Literal[""] = ""
FIXED = ("loader", "slots", "warpgroups", "tile_m", "tile_n")


def rows(tables: Tables) -> Sequence[Row]:
    """A row a step."""
    return [
        Row(
            id=figure.id,
            machine="h100_sxm",
            predict=partial(gemm_tflops, *_shape(figure), figure.text("schedule"), _options(figure)),
            measured=figure.value("tflops_per_s"),
            unit="TFLOP/s",
            source=figure.source,
            group=figure.text("schedule"),
        )
        for figure in published("gemm_worklog")
    ]


def _shape(figure: Figure) -> tuple[int, int, int]:
    return figure.count("m"), figure.count("n"), figure.count("k")


def _options(figure: Figure) -> Mapping[str, int | str]:
    """What a step fixes; nothing where the model chooses."""
    if figure.text("schedule") == "auto":
        return {}
    return {name: figure.text(name) for name in FIXED}


def gemm_tflops(m: int, n: int, k: int, schedule: str, options: Mapping[str, int | str], machine: Machine) -> float:
    """TFLOP/s of one bf16 GEMM."""
    from experiments.validation.graphs import gemm
    from experiments.validation.replay import replayed_us

    return 2 * m * n * k / replayed_us(gemm(m, n, k, "bf16"), machine, schedule=schedule, options=options) / 1e6
