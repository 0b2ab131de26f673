"""`--set name=value`: which graph extents and machine parameters a user replaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.sides import Family, Side, load_machine
from patterns.documents.parameters import parameter_names
from patterns.errors import UnknownName, UserError, did_you_mean
from patterns.library import MEMBERS_EXTENT, workload

if TYPE_CHECKING:
    from experiments.request import Request
    from patterns.graph import Graph

GRAPH = "graph"


@dataclass(frozen=True)
class Settings:
    """Replaced values by where they go: (place, name, value), the place being 'graph', 'gpu' or 'rdu'."""

    values: tuple[tuple[str, str, str], ...] = ()

    def of_graph(self) -> Mapping[str, str]:
        """Replaced extents of the graph."""
        return self.at(GRAPH)

    def of_machine(self, family: Family) -> Mapping[str, str]:
        """Replaced parameters of one family's machine."""
        return self.at(family)

    def at(self, place: str) -> Mapping[str, str]:
        """Replaced values of one place."""
        return {name: value for where, name, value in self.values if where == place}


def settle(request: Request, sides: Sequence[Side], graph: Graph | None = None) -> Settings:
    """Find the place of every setting; graph: one that is made already, with its extents.

    Raises UnknownName, UserError for what two places have or what is set twice.
    """
    if not request.settings:
        return Settings()
    known: dict[str, tuple[str, ...]] = {
        GRAPH: tuple((graph or workload(request.workload, phase=request.phase)).sizes),
        **{side.family: parameter_names(load_machine(side.family, side.machine, {})) for side in sides},
    }
    values = tuple(placed(name, value, known) for name, value in request.settings)
    need_once(values, request)
    return Settings(values)


def placed(name: str, value: str, known: Mapping[str, tuple[str, ...]]) -> tuple[str, str, str]:
    """A setting with its place: the one written before a dot, else the only one that has the name."""
    place, dot, rest = name.partition(".")
    if dot:
        if place not in known:
            raise UnknownName("place of a setting", place, known)
        if rest not in known[place]:
            raise UnknownName("setting", name, [f"{place}.{parameter}" for parameter in known[place]])
        return place, rest, value
    places = [place for place, names in known.items() if name in names]
    if not places:
        close = did_you_mean(name, [n for names in known.values() for n in names])
        extents = ", ".join(known[GRAPH])
        message = f"unknown setting {name!r}{close}; the graph has: {extents}; machines: gpu.NAME=, rdu.NAME="
        raise UserError(message)
    if len(places) > 1:
        choices = " or ".join(f"{place}.{name}" for place in places)
        raise UserError(f"setting {name!r} is known in {len(places)} places: write {choices}")
    return places[0], name, value


def need_once(values: Sequence[tuple[str, str, str]], request: Request) -> None:
    """Raises UserError for a name that is set twice, or that is set by an option of its own."""
    seen = {(GRAPH, name): f"by --{name}" for name in ("batch", "context") if getattr(request, name) is not None}
    for place, name, _ in values:
        if (place, name) == (GRAPH, MEMBERS_EXTENT):
            raise UserError(f"{name!r} follows from the number of machines: give --gpus, --sockets or --members")
        if (place, name) in seen:
            shown = name if place == GRAPH else f"{place}.{name}"
            raise UserError(f"{shown!r} is set {seen[place, name]} and again by --set: keep one")
        seen[place, name] = "by --set"
