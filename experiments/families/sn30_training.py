"""sn30_training: a layer of a GPT-2 training step on half of an SN30: its time, its sections, what fusing gains.

Calls are started by the host. What a step costs besides its layers is in neither number: see the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Literal

from experiments.validation.published import Figure, published
from experiments.validation.row import Row
from experiments.validation.tables import Tables

if TYPE_CHECKING:
    from rdu_model.machine import Machine

PART: Literal[""] = ""
MILLISECOND_PS = 10**9
# Four tiles of eight are one of two dies, with its half of the DDR channels.
HALF = (
    ("tiles", "4"),
    ("tiles_across", "2"),
    ("pcus", "640"),
    ("pmus", "640"),
    ("agcus", "24"),
    ("ddr_bytes_per_s", "150 GB/s"),
)


def rows(tables: Tables) -> Sequence[Row]:
    """A row a figure, shown beside: how the published compiler cut and mapped its sections is not told."""
    return [
        Row(
            id=figure.id,
            side="rdu",
            machine="sn30",
            predict=partial(METRICS[figure.text("metric")], figure),
            measured=figure.value("value"),
            unit=UNITS[figure.text("metric")],
            source=figure.source,
            settings=HALF,
            group=figure.text("mode"),
            target=False,
        )
        for figure in published("sn30_training")
    ]


@lru_cache(8)
def layer(hidden: int, mode: str, machine: Machine) -> tuple[int, int]:
    """Picoseconds of the forward and the backward pass of a layer, and their sections. Raises UserErrors."""
    from patterns.library import workload
    from patterns.run import run_plan
    from rdu_model import lower

    graph = workload("gpt2_training", overrides={"hidden": hidden})
    plan = lower(graph, machine, mode=mode, orchestration="software")
    return run_plan(plan, spans=False).schedule.total_cycles, len(plan.calls)


def layer_ms(figure: Figure, machine: Machine) -> float:
    """Milliseconds of a layer."""
    return layer(figure.count("hidden"), figure.text("mode"), machine)[0] / MILLISECOND_PS


def sections(figure: Figure, machine: Machine) -> float:
    """Sections of a layer."""
    return layer(figure.count("hidden"), figure.text("mode"), machine)[1]


def speedup(figure: Figure, machine: Machine) -> float:
    """A layer in the figure's mode over one that is fused."""
    hidden = figure.count("hidden")
    return layer(hidden, figure.text("mode"), machine)[0] / layer(hidden, "fused", machine)[0]


UNITS: Mapping[str, str] = {"ms": "ms", "sections": "sections", "speedup": "times"}
METRICS: Mapping[str, Callable[[Figure, Machine], float]] = {
    "ms": layer_ms,
    "sections": sections,
    "speedup": speedup,
}
