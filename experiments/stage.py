"""One stage of the compile flow of a workload on an RDU: what `show --stage` tells, and what a floorplan draws."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from experiments.sides import load_machine
from patterns.errors import UnknownName, UserError
from rdu_model.compilation import Choices, Compilation, Compiled, compile_graph
from rdu_model.compile_stage import show_stage, stage_named
from rdu_model.floor.wiring import wired

if TYPE_CHECKING:
    from experiments.settings import Settings
    from experiments.sides import Side
    from patterns.graph import Graph
    from rdu_model.compile_stage import Shown


def choices_of(side: Side) -> Choices:
    """How a side compiles its graph, in its first mode. Raises UnknownName."""
    given: dict[str, Any] = dict(side.keywords) | ({"mode": side.modes[0]} if side.modes[0] else {})
    return Choices(**given)


def compilation_of(graph: Graph, side: Side, settings: Settings) -> Compilation:
    """The sections of a graph on an RDU. Raises UserErrors."""
    machine = load_machine(side.family, side.machine, settings.of_machine(side.family))
    return compile_graph(graph, machine, choices_of(side), side.members)


def placed(compiled: Compiled, seed: int) -> Compiled:
    """A section on the grid, if it is not there already. Raises UserError, DoesNotFit."""
    section = compiled.section
    if section.placed is not None:
        return compiled
    return replace(compiled, section=wired(replace(section, wires={}), "full", seed))


def shown_stage(graph: Graph, side: Side, settings: Settings, stage: str, call: str) -> tuple[Shown, ...]:
    """What a stage made of a graph, or of the call of that name ('': of all of it). Raises UserErrors."""
    needs_cells = stage_named(stage).PLACED
    if side.family != "rdu":
        raise UserError(f"--stage {stage} is of an RDU's compile flow, and {side.machine} is a GPU: name an --rdu")
    seed = choices_of(side).seed
    if needs_cells:
        # Only what is shown is placed: of many calls that takes long.
        side = replace(side, keywords=tuple({**dict(side.keywords), "placement": "estimate"}.items()))
    compilation = compilation_of(graph, side, settings)
    names = [compiled.section.name for compiled in compilation.sections]
    if call and call not in names:
        raise UnknownName("call", call, names)
    if needs_cells:
        sections = (placed(one, seed) if call in ("", one.section.name) else one for one in compilation.sections)
        compilation = replace(compilation, sections=tuple(sections))
    return show_stage(stage, compilation, call)
