"""What the ways of a section cost by estimate and on the grid, side by side: how far the estimate can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from patterns.pipeline.simulate import simulate
from rdu_model.emit import emit
from rdu_model.floor.estimate import estimate
from rdu_model.floor.layout import place_and_route
from rdu_model.floor.wires import Wire
from rdu_model.section import Section


@dataclass(frozen=True)
class Ways:
    """The ways of a section. mean_hops, mean_latency_cycles: over its links; busiest: the fullest edge of the mesh, as
    a part of what it carries; byte_hops: bytes in a cycle times links; cycles: of the call.
    """

    mean_hops: float
    longest_hops: int
    mean_latency_cycles: float
    busiest: float
    byte_hops: float
    cycles: int


@dataclass(frozen=True)
class Compared:
    """A call without ways, with estimated ones, and with those of a placement."""

    free_cycles: int
    estimated: Ways
    placed: Ways


def compare_ways(section: Section, seed: int = 0) -> Compared:
    """Both for one section; it is placed if it is not yet. Raises UserError, DoesNotFit as placing does."""
    on_grid = section if section.placed else place_and_route(section, seed)
    by_formula = estimate(section)
    placed = on_grid.placed
    assert placed is not None
    return Compared(
        _cycles(section, {}),
        _ways(section, by_formula.wires, by_formula.busiest, by_formula.byte_hops),
        _ways(section, on_grid.wires, placed.routes.busiest, placed.routes.byte_hops),
    )


def _ways(section: Section, wires: Mapping[str, Wire], busiest: float, byte_hops: float) -> Ways:
    count = max(1, len(wires))
    return Ways(
        sum(wire.hops for wire in wires.values()) / count,
        max((wire.hops for wire in wires.values()), default=0),
        sum(wire.latency_cycles for wire in wires.values()) / count,
        busiest,
        byte_hops,
        _cycles(section, wires),
    )


def _cycles(section: Section, wires: Mapping[str, Wire]) -> int:
    return simulate(emit(replace(section, wires=wires)), spans=False).total_cycles
