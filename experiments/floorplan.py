"""The floorplan of a section as data: where its units are, whom each works for, and what its ways put on the mesh."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from experiments.compare import read_graph
from experiments.request import Request
from experiments.settings import settle
from experiments.sides import side_on
from experiments.stage import choices_of, compilation_of, placed
from patterns.errors import UnknownName
from patterns.graph import Graph
from patterns.pipeline.bounds import lower_bound
from rdu_model.compilation import Compilation, Compiled
from rdu_model.emit import emit
from rdu_model.floor.areas import owners
from rdu_model.floor.fabric import Fabric
from rdu_model.floor.placement import Placed, Routes
from rdu_model.section import Section


@dataclass(frozen=True)
class Unit:
    """A PCU or a PMU of the grid. stage: whom it works for, item: what it runs or holds; '' where nobody uses it."""

    cell: int
    kind: str
    stage: str
    item: str


@dataclass(frozen=True)
class Floorplan:
    """A placed section and what it is of. mode: the RDU's. graph: the workload's name."""

    graph: str
    mode: str
    section: Section
    placed: Placed

    @property
    def fabric(self) -> Fabric:
        """The grid."""
        return self.placed.fabric

    @property
    def routes(self) -> Routes:
        """The flows on the mesh."""
        return self.placed.routes

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """Every unit there is, row by row."""
        stages, placement = owners(self.section, self.placed), self.placed.placement
        items = {cell: name for of in (placement.pcus, placement.pmus) for name, cells in of.items() for cell in cells}
        kinds = enumerate(self.fabric.kinds)
        return tuple(Unit(cell, kind, stages.get(cell, ""), items.get(cell, "")) for cell, kind in kinds if kind)

    @cached_property
    def streams(self) -> Mapping[int, tuple[str, ...]]:
        """The loads and stores of each AGCU, by its number."""
        found: dict[int, list[str]] = {}
        for name, numbers in self.placed.placement.agcus.items():
            for number in numbers:
                found.setdefault(number, []).append(name)
        return {number: tuple(names) for number, names in found.items()}

    @cached_property
    def by_size(self) -> tuple[tuple[str, int, int], ...]:
        """(stage, PCUs, PMUs) of each stage, the one with most units first."""
        pcus = Counter(unit.stage for unit in self.units if unit.stage and unit.kind == "pcu")
        pmus = Counter(unit.stage for unit in self.units if unit.stage and unit.kind == "pmu")
        order = {name: number for number, name in enumerate(self.section.flow.leaves)}
        names = sorted(pcus | pmus, key=lambda name: (-pcus[name] - pmus[name], order[name]))
        return tuple((name, pcus[name], pmus[name]) for name in names)


def asked_floorplan(request: Request, section: str, graph: Graph | None = None) -> Floorplan:
    """The floorplan that a request means, '' for the section in which most time goes. Raises UserErrors.

    graph: the one to run in place of the request's workload.
    """
    side = side_on(request, ("rdu",), request.rdu, request.modes[0] if request.modes else "", request.sockets)
    settings = settle(request, (side,))
    compilation = compilation_of(graph or read_graph(request, side.members, settings), side, settings)
    chosen = placed(section_named(compilation, section), request.seed)
    return floorplan_of(chosen, request.workload, choices_of(side).mode)


def section_named(compilation: Compilation, name: str) -> Compiled:
    """A section, '' for the one in which most time goes. Raises UnknownName."""
    by_name = {compiled.section.name: compiled for compiled in compilation.sections}
    if name and name not in by_name:
        raise UnknownName("section", name, by_name)
    return by_name[name] if name else max(compilation.sections, key=_least_cycles)


def floorplan_of(compiled: Compiled, graph: str, mode: str) -> Floorplan:
    """The floorplan of a placed section."""
    assert compiled.section.placed is not None, "a floorplan is of a placed section"
    return Floorplan(graph, mode, compiled.section, compiled.section.placed)


def _least_cycles(compiled: Compiled) -> int:
    calls = compiled.block.count // compiled.section.flow.metapipe.iterations
    return calls * lower_bound(emit(compiled.section)).cycles


def records(floorplan: Floorplan) -> tuple[dict[str, object], ...]:
    """Everything that is drawn, a row each: units, AGCUs, and links of the mesh in each direction."""
    fabric, routes = floorplan.fabric, floorplan.routes
    rows = [record(fabric, unit.kind, unit.cell, unit.stage, unit.item) for unit in floorplan.units]
    for number, cell in enumerate(fabric.agcus):
        rows.append(record(fabric, "agcu", cell, item=joined(floorplan.streams.get(number, ())), agcu=number))
    for (cell, to), load in sorted(routes.load.items()):
        row, column = fabric.row_column(to)
        rows.append(
            record(fabric, "link", cell)
            | {"to_row": row, "to_column": column, "bytes_per_cycle": round(load, 3), "flows": routes.flows[cell, to]}
        )
    return tuple(rows)


def joined(names: Sequence[str]) -> str:
    """Names in one cell of a table."""
    return "; ".join(names)


def record(
    fabric: Fabric, what: str, cell: int, stage: str = "", item: str = "", agcu: int | str = ""
) -> dict[str, object]:
    """One row of the picture's data; rows and columns are those of the whole grid."""
    row, column = fabric.row_column(cell)
    place = {"what": what, "tile": fabric.tile_of(cell), "row": row, "column": column}
    return place | {
        "stage": stage,
        "item": item,
        "agcu": agcu,
        "to_row": "",
        "to_column": "",
        "bytes_per_cycle": "",
        "flows": "",
    }
