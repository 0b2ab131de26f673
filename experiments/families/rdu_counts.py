"""rdu_counts: what a token of Llama 3.1 8B takes by count, beside a published table; no machine is asked.

Parameters and caches are counted over the whole model, products as two operations a multiply-add.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from experiments.validation.published import Figure, published
from experiments.validation.row import Row
from experiments.validation.tables import Tables

if TYPE_CHECKING:
    from patterns.graph import Graph
    from rdu_model.machine import Machine

PART: Literal[""] = ""
MACHINE = "sn40l"
GIB = 2**30


def rows(tables: Tables) -> Sequence[Row]:
    """A row a column of the table."""
    return [
        Row(
            id=figure.id,
            machine=MACHINE,
            side="rdu",
            predict=partial(counted, figure),
            measured=figure.value("value"),
            unit=figure.text("unit"),
            source=figure.source,
        )
        for figure in published("rdu_counts")
    ]


def counted(figure: Figure, machine: Machine) -> float:
    """The figure from our graph. Raises UserErrors."""
    from patterns.library import workload

    graph = workload(figure.text("model"), phase="decode", batch=1, context=figure.count("context"))
    return COUNTS[figure.text("metric")](graph)


def parameters_gib(graph: Graph) -> float:
    """All weights."""
    from patterns.count import parameter_bytes

    return parameter_bytes(graph) / GIB


def cache_gib(graph: Graph) -> float:
    """Keys and values of all layers."""
    from patterns.count import state_capacity_bytes

    return state_capacity_bytes(graph) / GIB


def gflops(graph: Graph) -> float:
    """Products and everything else of a token."""
    from patterns.count import graph_demand, ops

    return ops(graph_demand(graph)) / 1e9


def intensity(graph: Graph) -> float:
    """Operations a byte, of parameters and cache."""
    return gflops(graph) * 1e9 / (bytes_gib(graph) * GIB)


def bytes_gib(graph: Graph) -> float:
    """Parameters and cache: what the table counts as a token's bytes."""
    return parameters_gib(graph) + cache_gib(graph)


COUNTS: Mapping[str, Callable[[Graph], float]] = {
    "parameters": parameters_gib,
    "cache": cache_gib,
    "flops": gflops,
    "bytes": bytes_gib,
    "intensity": intensity,
}
