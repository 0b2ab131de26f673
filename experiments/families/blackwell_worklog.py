"""blackwell_worklog: one large GEMM on the B200 with one CTA's products, with a pair's, and cuBLAS's, in TFLOP/s."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

from experiments.families.gemm_worklog import gemm_tflops
from experiments.validation.published import published
from experiments.validation.row import Row
from experiments.validation.tables import Tables

PART: Literal[""] = ""


def rows(tables: Tables) -> Sequence[Row]:
    """A row a step."""
    return [
        Row(
            id=figure.id,
            machine="b200",
            predict=partial(
                gemm_tflops, figure.count("m"), figure.count("n"), figure.count("k"), figure.text("schedule"), {}
            ),
            measured=figure.value("tflops_per_s"),
            unit="TFLOP/s",
            source=figure.source,
            group=figure.text("schedule"),
        )
        for figure in published("blackwell_worklog")
    ]
