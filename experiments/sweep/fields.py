"""What a sweep may vary: fields of a Point, extents of a graph, parameters of machines, options of a schedule.

`batch`, `machine` ... are fields of a Point; `graph.NAME` is an extent, `gpu.NAME` and `rdu.NAME` are parameters of a
machine, `option.NAME` is what is fixed of a GPU's schedule. The part before the dot may be left out where one place
has the name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib import import_module

from experiments.point import Point
from experiments.sides import MODELS, Family, families_of, in_each, machine_names, mode_names
from patterns.documents.parameters import parameter_names
from patterns.errors import UserError, did_you_mean
from patterns.library import GRAPH_SUFFIXES, MEMBERS_EXTENT, PHASES, names, workload
from patterns.units import dimension_of, parse_quantity

FIELD, GRAPH, OPTION = "field", "graph", "option"
WHOLE = ("batch", "context", "members", "seed")
OTHER_NAMES = {"policy": "mode"}
_LISTS = ("options", "settings")
# A message has at most so many names.
_FEW = 20
POINT_FIELDS = tuple(field.name for field in fields(Point) if field.name not in _LISTS)


@dataclass(frozen=True)
class Place:
    """Where a name of a sweep goes: kind is 'field', 'graph', 'option', 'gpu' or 'rdu'."""

    kind: str
    name: str

    @property
    def shown(self) -> str:
        """As it is written in full."""
        return self.name if self.kind == FIELD else f"{self.kind}.{self.name}"


@dataclass(frozen=True)
class Known:
    """The names of each place besides a Point's fields. unread: some workload cannot be read, so its extents are not
    known.
    """

    places: tuple[tuple[str, tuple[str, ...]], ...]
    unread: bool = False

    def find(self, name: str) -> Place:
        """Where a name goes. Raises UserError for one that no place has, or that several have."""
        own = OTHER_NAMES.get(name, name)
        if own in POINT_FIELDS:
            return Place(FIELD, own)
        before, dot, rest = name.partition(".")
        places = dict(self.places)
        if dot:
            return self._in_place(before, rest, places)
        found = [kind for kind, known in places.items() if name in known]
        if len(found) == 1:
            return Place(found[0], name)
        if found:
            raise UserError(f"{name!r} is known in several places: write {' or '.join(f'{p}.{name}' for p in found)}")
        if self.unread:
            return Place(GRAPH, name)
        every = [*POINT_FIELDS, *(name for known in places.values() for name in known)]
        extents = ", ".join(places[GRAPH])
        raise UserError(
            f"unknown field {name!r}{did_you_mean(name, every)}; a point has: {', '.join(POINT_FIELDS)}; "
            f"the graph has: {extents}; machines: gpu.NAME, rdu.NAME; schedules: option.NAME"
        )

    def _in_place(self, kind: str, name: str, places: Mapping[str, tuple[str, ...]]) -> Place:
        if kind not in places:
            raise UserError(f"unknown place {kind!r}{did_you_mean(kind, places)}; there is: {', '.join(places)}")
        if name == MEMBERS_EXTENT and kind == GRAPH:
            raise UserError(f"{name!r} follows from the number of machines: give members")
        if name not in places[kind] and not (kind == GRAPH and self.unread):
            there = "" if kind in MODELS else f"; {kind} has: {', '.join(places[kind])}"  # machines have a hundred
            raise UserError(f"{kind} has no {name!r}{did_you_mean(name, places[kind])}{there}")
        return Place(kind, name)


def known_names(workloads: Iterable[str], phases: Iterable[str]) -> Known:
    """The names that a sweep over these workloads may vary. A workload that cannot be read is no mistake here."""
    from gpu_model.options import OPTION_NAMES

    extents: dict[str, None] = {}
    unread = False
    for name in workloads:
        for phase in phases:
            try:
                extents |= dict.fromkeys(workload(name, phase=phase).sizes)
            except UserError:
                unread = True
    extents.pop(MEMBERS_EXTENT, None)
    own = tuple(name for name in extents if name not in POINT_FIELDS)
    machines = [(family, machine_parameters(family)) for family in MODELS]
    return Known(((GRAPH, own), (OPTION, OPTION_NAMES), *machines), unread)


@lru_cache
def machine_parameters(family: Family) -> tuple[str, ...]:
    """Parameters of a family's machines."""
    return parameter_names(import_module(f"{MODELS[family]}.machine").Machine)


def mistaken(place: Place, value: object) -> str:
    """What is wrong with a value of a place, '' if nothing is that can be told without running the point."""
    if place.kind in MODELS:
        return _wrong_quantity(place.name, str(value))
    if place.kind != FIELD:
        return ""
    if place.name in WHOLE:
        whole = isinstance(value, int) and not isinstance(value, bool)
        return "" if whole else f"{place.name}: a whole number is due, found {value!r}"
    if not isinstance(value, str):
        return f"{place.name}: a name is due, found {value!r}"
    if place.name == "machine" and (found := families_of(value)):
        return "" if len(found) == 1 else f"{value!r} is a machine of both families: say {in_each(value)}"
    known = _choices(place.name)
    if not known or value in known or (place.name == "workload" and is_path(value)):
        return ""
    there = f"there is: {', '.join(known)}" if len(known) <= _FEW else "`patternloom list` has all"
    return f"unknown {place.name} {value!r}{did_you_mean(value, known)}; {there}"


def _wrong_quantity(name: str, text: str) -> str:
    """What is wrong with the value of a parameter that has a unit."""
    dimension = dimension_of(name)
    try:
        parse_quantity(text, dimension) if dimension.name else None
    except UserError as error:
        return str(error)
    return ""


def is_path(text: str) -> bool:
    """Whether a workload's name is that of a file."""
    return "/" in text or text.endswith((*GRAPH_SUFFIXES, ".json", ".onnx"))


@lru_cache
def _choices(name: str) -> tuple[str, ...]:
    """Every value that a field can have; () if that is not known before a point is run."""
    if name == "workload":
        return names()
    if name == "machine":
        return tuple(dict.fromkeys(machine for family in MODELS for machine in machine_names(family)))
    if name == "mode":
        return tuple(dict.fromkeys(mode for family in MODELS for mode in mode_names(family)))
    if name == "launch":
        return tuple(import_module("gpu_model").launch_names())
    return PHASES if name == "phase" else ()
