"""What tiles of a section's nodes take, by their extents, found once for all ways in which the nodes may nest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rdu_model.ask import Asked
from rdu_model.collective import exchange
from rdu_model.machine import Machine
from rdu_model.price import Grid, cycles, grid

# Bytes of each read of a node, and of its result.
Touched = tuple[tuple[int, ...], int]
Extents = tuple[int, ...]
Key = tuple[str, Extents]


@dataclass(frozen=True)
class TileCosts:
    """grids, moved: of a node, by its name and the extents of its dims, what was found."""

    nodes: Mapping[str, Asked]
    machine: Machine
    grids: dict[Key, Grid] = field(default_factory=dict)
    moved: dict[Key, Touched] = field(default_factory=dict)

    def extents(self, name: str, sizes: Mapping[str, int]) -> Extents:
        """Of the dims that a node knows."""
        return tuple([sizes[dim] for dim in self.nodes[name].dims])

    def stage_cycles(self, name: str, sizes: Mapping[str, int], pcus: int) -> int:
        """Cycles of a node on one tile."""
        asked = self.nodes[name]
        if asked.unit_class == "network":
            return exchange(asked, sizes, self.machine).cycles
        if asked.unit_class == "memory":
            return self.machine.step_cycles
        key = name, self.extents(name, sizes)
        if key not in self.grids:
            self.grids[key] = grid(asked, sizes, self.machine)
        return self.machine.step_cycles + cycles(self.grids[key], pcus)

    def touched(self, name: str, sizes: Mapping[str, int]) -> Touched:
        """Bytes of each read and of the result of a node on one tile."""
        key = name, self.extents(name, sizes)
        if key not in self.moved:
            self.moved[key] = self.nodes[name].touched(sizes)
        return self.moved[key]
