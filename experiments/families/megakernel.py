"""megakernel: decode steps at batch 1 as one kernel, and the kernels that it replaces, of published systems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from experiments.validation.published import Figure, published
from experiments.validation.row import Row
from experiments.validation.tables import Tables

if TYPE_CHECKING:
    from gpu_model.machine import Machine
    from patterns.report import Report

PART: Literal[""] = ""
PERCENT = 100
MILLISECOND_PS = 10**9


def rows(tables: Tables) -> Sequence[Row]:
    """A row a figure."""
    return [
        Row(
            id=figure.id,
            machine=figure.text("gpu"),
            predict=partial(METRICS[figure.text("metric")], figure),
            measured=figure.value("value"),
            unit=UNITS[figure.text("metric")],
            source=figure.source,
            settings=(("hbm_bytes_per_s", figure.text("hbm")),) if figure.text("hbm") else (),
            group=figure.text("policy") if figure.text("metric") != "speedup" else "speedup",
        )
        for figure in published("megakernel")
    ]


def share_percent(figure: Figure, machine: Machine) -> float:
    """Of the HBM's peak rate, what a step's bytes get."""
    report = step(figure, figure.text("policy"), figure.text("launch"), machine)
    return PERCENT * dict(report.bytes)["hbm"] / report.time_s / machine.hbm_bytes_per_s


def step_ms(figure: Figure, machine: Machine) -> float:
    """Milliseconds of a step."""
    return step(figure, figure.text("policy"), figure.text("launch"), machine).time_ps / MILLISECOND_PS


def speedup(figure: Figure, machine: Machine) -> float:
    """A step of kernels over one of the megakernel."""
    kernels = step(figure, figure.text("policy"), figure.text("launch"), machine)
    return kernels.time_ps / step(figure, "megakernel", "stream", machine).time_ps


def step(figure: Figure, policy: str, launch: str, machine: Machine) -> Report:
    """One decode step. Raises UserErrors."""
    from gpu_model import lower
    from patterns.library import workload
    from patterns.run import run_plan
    from patterns.summarize import summarize

    changes = {name: figure.text(name) for name in ("layers", "model_ffn", "model_vocabulary")}
    members = figure.count("gpus")
    graph = workload(figure.text("model"), context=figure.count("context"), members=members, overrides=changes)
    return summarize(run_plan(lower(graph, machine, policy=policy, launch=launch, members=members)))


UNITS: Mapping[str, str] = {"share": "% of HBM", "ms": "ms", "speedup": "times"}
METRICS: Mapping[str, Callable[[Figure, Machine], float]] = {
    "share": share_percent,
    "ms": step_ms,
    "speedup": speedup,
}
