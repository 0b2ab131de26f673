"""lecture: the runs of a lecture's simulated SM, simulated; each is expected to be equal to the cycle.

The total cycles of experiments/measured/lecture.yaml; they follow from the lecture's rules and are no measurements.
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
    """A row a run."""
    from gpu_model.lecture.gemm import MACHINE

    return [
        Row(
            id=figure.id,
            machine=MACHINE,
            predict=partial(total_cycles, figure.id),
            measured=figure.value("total_cycles"),
            unit="cycles",
            source=figure.source,
            group=figure.text("group"),
        )
        for figure in published("lecture")
    ]


def total_cycles(name: str, machine: Machine) -> float:
    """Cycles of the run of that name. It sets parameters of the lecture's SM by itself. Raises UnknownName."""
    from gpu_model.lecture.attention import AttentionRun, attention_runs
    from gpu_model.lecture.gemm import LectureRun, lecture_runs
    from patterns.errors import UnknownName

    every: tuple[LectureRun | AttentionRun, ...] = (*lecture_runs(), *attention_runs())
    runs = {run.id: run for run in every}
    if name not in runs:
        raise UnknownName("run of the lecture", name, runs)
    return runs[name].total_cycles
