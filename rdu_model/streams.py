"""How far streams of weights and states run ahead of the stages that they feed.

A stream may always hold half a PMU, in a few small tiles; on SN40L that is what HBM brings in 200 cycles, a little more
than its latency. What a stream holds beyond that is its part of the machine's prefetch_bytes, in proportion to its
bytes. So all of them never hold more than prefetch_bytes and half a PMU each, unless a single tile is larger: the tile
in use must be there as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rdu_model.machine import Machine

# One tile is read, one fills, some are on their way: more of them than these need prefetch_bytes.
SMALL_TILES = 8
# Nothing is gained by running ahead further than the next execution of the block.
EXECUTIONS_AHEAD = 2


@dataclass(frozen=True)
class Stream:
    """A stream of `tiles` tiles of `slot_bytes` in one execution of its block."""

    slot_bytes: int
    tiles: int

    @property
    def total_bytes(self) -> int:
        """Bytes of one execution."""
        return self.slot_bytes * self.tiles


def least_bytes(machine: Machine) -> int:
    """What a stream may hold without any prefetch_bytes."""
    return machine.pmu_bytes // 2


def allowed_bytes(streams: Sequence[Stream], prefetch_bytes: int, machine: Machine) -> tuple[int, ...]:
    """What each stream may hold."""
    total = max(1, sum(stream.total_bytes for stream in streams))
    least = least_bytes(machine)
    return tuple(least + prefetch_bytes * stream.total_bytes // total for stream in streams)


def slots_ahead(streams: Sequence[Stream], prefetch_bytes: int, machine: Machine) -> tuple[int, ...]:
    """The slots of each stream, at least one."""
    return tuple(
        _slots(stream, least_bytes(machine), allowed)
        for stream, allowed in zip(streams, allowed_bytes(streams, prefetch_bytes, machine), strict=True)
    )


def _slots(stream: Stream, least: int, allowed: int) -> int:
    if not stream.slot_bytes:
        return 1
    always = min(SMALL_TILES, least // stream.slot_bytes)
    more = (allowed - always * stream.slot_bytes) // stream.slot_bytes if always < SMALL_TILES else 0
    more = max(more, (allowed - least) // stream.slot_bytes)
    return min(EXECUTIONS_AHEAD * stream.tiles, max(1, always + more))
