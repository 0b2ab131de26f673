"""blackwell_main_loop: steps of one CTA alone on a B200 by tile and number of stages, in ns for each step."""

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
K = 131_072
# What the microbenchmarks of the source ran at.
CLOCK = (("clock_hz", "1.965 GHz"),)


def rows(tables: Tables) -> Sequence[Row]:
    """A row a tile and a number of stages."""
    return [
        Row(
            id=figure.id,
            machine="b200",
            predict=partial(step_ns, _options(figure)),
            measured=figure.value("ns_per_step"),
            unit="ns",
            source=figure.source,
            group=f"{figure.text('tile_m')}x{figure.text('tile_n')}x{figure.text('tile_k')}",
            settings=CLOCK,
        )
        for figure in published("blackwell_main_loop")
    ]


def _options(figure: Figure) -> Mapping[str, int]:
    return {"slots": figure.count("stages"), **{name: figure.count(name) for name in ("tile_m", "tile_n", "tile_k")}}


def step_ns(options: Mapping[str, int], machine: Machine) -> float:
    """Nanoseconds of one step of a product that is one tile."""
    from experiments.validation.graphs import gemm
    from gpu_model import lower
    from patterns.pipeline.simulate import simulate

    graph = gemm(options["tile_m"], options["tile_n"], K, "bf16")
    call = lower(graph, machine, schedule="tcgen05", options=options).calls[0]
    seconds = simulate(call.program).total_cycles / call.clock_hz
    return seconds * 1e9 / (K // options["tile_k"])
