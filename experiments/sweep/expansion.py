"""A Sweep to its points, in order: rows of `list`, then of `zip`, then the grid with its last field fastest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from experiments.point import Point
from experiments.sweep.fields import FIELD, OPTION
from experiments.sweep.read import Pairs, Sweep, located
from experiments.sweep.where import holds, plain_name
from patterns.errors import UserError
from patterns.expression import ExpressionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from experiments.sweep.values import Value

MOST_POINTS = 1_000_000


@dataclass(frozen=True)
class Case:
    """One row to come: its fields as they are written, and the run that they ask for."""

    position: int
    parameters: Pairs
    point: Point


def most_points(sweep: Sweep) -> int:
    """Points before the filter."""
    zipped = len(sweep.zipped[0][1]) if sweep.zipped else 1
    return max(1, len(sweep.listed)) * zipped * prod(len(values) for _, values in sweep.grid)


def expand(sweep: Sweep) -> tuple[Case, ...]:
    """Every point that passes the filters, in order. Raises UserError for too many, or a filter that fails."""
    return tuple(Case(i, parameters, point_of(sweep, parameters)) for i, parameters in enumerate(passing(sweep)))


def passing(sweep: Sweep) -> Iterator[Pairs]:
    """The fields of every point that passes the filters, in order. Raises as `expand` does."""
    _few_enough(sweep)
    if not sweep.filters:
        return _combined(sweep)
    plain = {name: plain_name(name) for name in sweep.columns}
    return (parameters for parameters in _combined(sweep) if _passes(sweep, plain, parameters))


def points_that_pass(sweep: Sweep) -> int:
    """How many points there are. Raises as `expand` does."""
    return sum(1 for _ in passing(sweep)) if sweep.filters else _few_enough(sweep)


def _few_enough(sweep: Sweep) -> int:
    """Points before the filter. Raises UserError for too many."""
    if (most := most_points(sweep)) > MOST_POINTS:
        raise UserError(f"{sweep.name} has {most:,} points; at most {MOST_POINTS:,} are run at once")
    return most


def _combined(sweep: Sweep) -> Iterator[Pairs]:
    zipped = [*zip(*([(name, value) for value in values] for name, values in sweep.zipped), strict=True)] or [()]
    grids = [[(name, value) for value in values] for name, values in sweep.grid]
    for row, together, every in product(sweep.listed or ((),), zipped, product(*grids)):
        yield (*sweep.fixed, *row, *together, *every)


def _passes(sweep: Sweep, plain: Mapping[str, str], parameters: Pairs) -> bool:
    """Whether all filters hold. plain: each name as filters have it."""
    given: dict[str, Value | None] = dict.fromkeys(plain.values())
    given |= {plain[name]: value for name, value in parameters}
    for found in sweep.filters:
        try:
            if not holds(found, given):
                return False
        except ExpressionError as error:
            raise UserError(f"{found.place}: where: {error} (of {parameters_text(parameters)})") from None
    return True


def point_of(sweep: Sweep, parameters: Pairs) -> Point:
    """The run that fields ask for."""
    own: dict[str, Any] = {}
    options, settings = [], []
    for name, value in parameters:
        place = sweep.place_of[name]
        if place.kind == FIELD:
            own[place.name] = value
        elif place.kind == OPTION:
            options.append((place.name, str(value)))
        else:
            settings.append((place.shown, str(value)))
    own["workload"] = located(str(own["workload"]), sweep.folder)
    return Point(**own, options=tuple(options), settings=tuple(settings))


def parameters_text(parameters: Pairs | Mapping[str, Any]) -> str:
    """'batch 4, machine sn40l': the fields of a point in words."""
    pairs = parameters if isinstance(parameters, tuple) else tuple(parameters.items())
    return ", ".join(f"{name} {value}" for name, value in pairs)
