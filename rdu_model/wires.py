"""Wires: what the way of a link's tiles through the switches costs, as an estimate or a route says it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Wire:
    """The way from a link's source to its readers.

    latency_cycles: after a tile is made, until it is there. bytes_per_cycle: what its busiest mesh link leaves it,
    0 where nothing holds it up. hops: switches on the way to the farthest reader.
    """

    latency_cycles: int = 0
    bytes_per_cycle: int = 0
    hops: int = 0

    def cycles_for(self, moved: int) -> int:
        """Cycles that so many bytes take at least."""
        return -(-moved // self.bytes_per_cycle) if self.bytes_per_cycle else 0
