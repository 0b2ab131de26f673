"""memory_bound: rms_norm and softmax of rows by a tuned kernel on the H100, in GB/s of the least traffic."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from experiments.validation.published import published
from experiments.validation.row import Row
from experiments.validation.tables import Tables

if TYPE_CHECKING:
    from experiments.validation.family import Part
    from gpu_model.machine import Machine

PART: Part = "small_kernels"
# The graph of an op, and what it calls the dim that is reduced.
GRAPHS = {"rmsnorm": ("rms_norm", "hidden"), "softmax": ("stable_softmax", "columns")}


def rows(tables: Tables) -> Sequence[Row]:
    """A row a figure."""
    return [
        Row(
            id=figure.id,
            machine="h100_sxm",
            predict=partial(
                gbytes_per_s,
                figure.text("op"),
                figure.text("dtype"),
                figure.count("rows"),
                figure.count("columns"),
            ),
            measured=figure.value("gbytes_per_s"),
            unit="GB/s",
            source=figure.source,
            group=f"{figure.text('op')} {figure.text('dtype')}",
        )
        for figure in published("memory_bound")
    ]


def gbytes_per_s(op: str, dtype: str, rows: int, columns: int, machine: Machine) -> float:
    """What is read once and written once, over the time of the kernel, which two events of its stream take.

    So timed, the launch of one kernel from a stream is part of it.
    """
    from experiments.validation.graphs import of_dtype, resized, workload_once
    from experiments.validation.replay import MICROSECOND_PS, replayed_us
    from patterns.dtypes import bytes_of

    name, reduced = GRAPHS[op]
    graph = resized(of_dtype(workload_once(name), dtype), {"rows": rows, reduced: columns})
    launch_us = machine.stream_launch_ps / MICROSECOND_PS
    return 2 * bytes_of(rows * columns, dtype) / (launch_us + replayed_us(graph, machine, gaps=False)) / 1e3
