"""A point, run as cheaply as its row needs: graphs and machines are read once, and nothing keeps spans."""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from experiments.compare import read_graph
from experiments.point import Point
from experiments.request import Request
from experiments.settings import Settings
from experiments.sides import Family, Side, check_room, load_machine, lower, side_on
from patterns.brief import Brief, brief
from patterns.errors import UserError
from patterns.graph_file.contents import workload_digest
from patterns.run import run_plan
from patterns.summarize import summarize

if TYPE_CHECKING:
    from patterns.graph import Graph
    from patterns.plan import Plan
    from patterns.report import Report

# What a bug in a model raises. Any of them is told in the row of its point, and the other points go on.
BUGS = (AssertionError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError)
# Points of a sweep share graphs and machines; what is kept is a few megabytes.
KEPT_GRAPHS = 64
KEPT_MACHINES = 256
_SHARED = tuple(field.name for field in fields(Request) if field.name in {own.name for own in fields(Point)})


def simulate_point(point: Point, extras: tuple[str, ...], content: str) -> Brief | Report:
    """The numbers of a point: a Report if parts of its time are asked for. Raises UserErrors, BrokenInvariant.

    content: the digest that the workload's files have to have.
    """
    plan = plan_of(point, content)
    if extras:
        return summarize(run_plan(plan))
    return brief(run_plan(plan, spans=False))


def plan_of(point: Point, content: str) -> Plan:
    """How a point's machine runs its graph, whose workload's files have this digest. Raises UserErrors."""
    side = side_of(point)
    return lower(side, graph_of(point, content), _machine_of(point, side), point.mode, told=False)


def need_room(point: Point, content: str) -> None:
    """Raises DoesNotFit where a point has no plan for want of memory or of members; other UserErrors."""
    side = side_of(point)
    check_room(side, graph_of(point, content), _machine_of(point, side), point.mode)


def _machine_of(point: Point, side: Side) -> object:
    settings = settings_of(point, side.family)
    return _machine(side.family, side.machine, tuple(settings.of_machine(side.family).items()))


def side_of(point: Point) -> Side:
    """The machine of a point, and what is asked of it. Raises UnknownName, UserError."""
    shared: dict[str, Any] = {name: getattr(point, name) for name in _SHARED}
    return side_on(Request(**shared), ("gpu", "rdu"), point.machine, point.mode, point.members)


def settings_of(point: Point, family: Family) -> Settings:
    """What a point replaces in its graph and its machine; each setting says where it goes."""
    placed = ((*name.partition(".")[::2], value) for name, value in point.settings)
    return Settings(tuple((place, name, value) for place, name, value in placed if place in ("graph", family)))


def graph_of(point: Point, content: str) -> Graph:
    """The graph of a point, whose workload's files have this digest. Raises UserErrors."""
    settings = tuple((*name.partition(".")[::2], value) for name, value in point.settings if name.startswith("graph."))
    return _graph(point.workload, content, point.phase, point.batch, point.context, point.members, settings)


@lru_cache(KEPT_GRAPHS)
def _graph(
    workload: str,
    content: str,
    phase: str,
    batch: int | None,
    context: int | None,
    members: int,
    settings: tuple[tuple[str, str, str], ...],
) -> Graph:
    """A graph. Raises UserErrors, also for files that are not what they were when the sweep began."""
    if workload_digest(workload) != content:
        raise UserError(f"{workload} was changed while the sweep ran: run it again")
    return read_graph(Request(workload, phase, batch, context), members, Settings(settings))


@lru_cache(KEPT_MACHINES)
def _machine(family: Family, name: str, overrides: tuple[tuple[str, str], ...]) -> Any:
    return load_machine(family, name, dict(overrides))
