"""Wires: what the way of a link's tiles through the switches costs, as an estimate or a route says it."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from patterns.pipeline.hashed import made_directly


@made_directly
@dataclass(frozen=True)
class Wire:
    """The way from a link's source into its PMUs, and from there to its readers.

    latency_cycles: after a tile is made, until it is with the farthest reader. hops: links of the mesh on this way.
    bytes_per_cycle: that the mesh lets into the PMUs, 0 where nothing holds it up; read_bytes_per_cycle: to each
    reader, in the link's order.
    """

    latency_cycles: int = 0
    hops: int = 0
    bytes_per_cycle: float = 0.0
    read_bytes_per_cycle: tuple[float, ...] = ()

    def write_cycles(self, moved: int) -> int:
        """Cycles that so many bytes take at least into the PMUs."""
        return _cycles(moved, self.bytes_per_cycle)

    def read_cycles(self, moved: int, reader: int) -> int:
        """Cycles that so many bytes take at least to a reader, by its number."""
        return _cycles(moved, self.read_bytes_per_cycle[reader] if self.read_bytes_per_cycle else 0.0)


def _cycles(moved: int, bytes_per_cycle: float) -> int:
    return ceil(moved / bytes_per_cycle) if bytes_per_cycle else 0
