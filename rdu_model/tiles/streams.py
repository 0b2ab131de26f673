"""How far streams of weights and states run ahead of the stages that they feed.

A stream may always hold half a PMU, in a few small tiles; on SN40L that is what HBM brings in 200 cycles, a little more
than its latency. What a stream holds beyond that is its part of the machine's prefetch_bytes, in proportion to its
bytes. So all of them never hold more than prefetch_bytes and half a PMU each, unless a single tile is larger: the tile
in use must be there as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rdu_model.machine import Machine

# One tile is read, one fills, some are on their way: more of them than these need prefetch_bytes.
SMALL_TILES = 8
# Nothing is gained by running ahead further than the next execution of the block.
EXECUTIONS_AHEAD = 2


class Stream(NamedTuple):
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
    total = sum([stream.total_bytes for stream in streams])
    least = least_bytes(machine)
    return tuple([allowed_of(stream.total_bytes, total, prefetch_bytes, least) for stream in streams])


def allowed_of(own_bytes: int, total_bytes: int, prefetch_bytes: int, least: int) -> int:
    """What a stream of so many bytes may hold, of streams that have so many together. least: what each may hold."""
    return least + prefetch_bytes * own_bytes // max(1, total_bytes)


def slots_ahead(streams: Sequence[Stream], prefetch_bytes: int, machine: Machine) -> tuple[int, ...]:
    """The slots of each stream, at least one."""
    least, allowed = least_bytes(machine), allowed_bytes(streams, prefetch_bytes, machine)
    return tuple([slots_of(*stream, least, most) for stream, most in zip(streams, allowed, strict=True)])


def slots_of(slot_bytes: int, tiles: int, least: int, allowed: int) -> int:
    """The slots of a stream that may hold so many bytes, and so many without any prefetch_bytes."""
    if not slot_bytes:
        return 1
    always = min(SMALL_TILES, least // slot_bytes)
    more = (allowed - always * slot_bytes) // slot_bytes if always < SMALL_TILES else 0
    return min(EXECUTIONS_AHEAD * tiles, max(1, always + max(more, (allowed - least) // slot_bytes)))
