"""One stage of the compile flow of a workload on an RDU: what `show --stage` tells, and what a floorplan draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.sides import load_machine
from patterns.errors import UserError
from rdu_model.compilation import Choices, Compilation, compile_graph
from rdu_model.compile_stage import show_stage, stage_named

if TYPE_CHECKING:
    from experiments.settings import Settings
    from experiments.sides import Side
    from patterns.graph import Graph
    from rdu_model.compile_stage import Shown


def compilation_of(graph: Graph, side: Side, settings: Settings, *, placed: bool = False) -> Compilation:
    """The sections of a graph on an RDU in one mode. placed: all of them on the grid. Raises UserErrors."""
    machine = load_machine(side.family, side.machine, settings.of_machine(side.family))
    given: dict[str, Any] = dict(side.keywords) | ({"mode": side.modes[0]} if side.modes[0] else {})
    if placed:
        given["placement"] = "full"
    return compile_graph(graph, machine, Choices(**given), side.members)


def shown_stage(graph: Graph, side: Side, settings: Settings, stage: str, call: str) -> tuple[Shown, ...]:
    """What a stage made of a graph, or of the call of that name ('': of all of it). Raises UserErrors."""
    placed = stage_named(stage).PLACED
    if side.family != "rdu":
        raise UserError(f"--stage {stage} is of an RDU's compile flow, and {side.machine} is a GPU: name an --rdu")
    return show_stage(stage, compilation_of(graph, side, settings, placed=placed), call)
