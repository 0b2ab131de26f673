"""A run's state as one tuple of integers: two equal ones evolve equally, for as long as no loop ends.

Left out are loop counters, the clock (times are relative to it) and tile numbers (relative to the tiles made).
"""

from __future__ import annotations

from collections import deque

from patterns.pipeline.instructions import Instructions
from patterns.pipeline.script import Await
from patterns.pipeline.state import ChannelState, Event, HandleState, RunState, UnitState, Work

Signature = tuple[int, ...]


class Signer:
    """Signs the state of one run, at the end of a cycle: roles are blocked and units have taken what they can."""

    def __init__(self, state: RunState, instructions: list[Instructions]) -> None:
        self._state = state
        channels = state.channels
        self._acquired = [(channels[channel], tiles) for (_, channel), tiles in state.acquired.items()]
        self._held = [(channels[channel], tiles) for (_, channel, _), tiles in state.held.items()]
        self._oldest = [0] * len(channels)  # by channel: a tile before which all are released
        self._handles = list(state.handles.values())
        self._awaits = [
            (barrier, code.role, _last_await(code, barrier_name.name))
            for barrier, barrier_name in zip(state.barriers, state.program.barriers, strict=True)
            for code in instructions
            if code.role in barrier.untaken
        ]

    def sign(self, now: int) -> Signature:
        """The state relative to `now` and to the tiles made."""
        state = self._state
        values = list(state.pcs)
        _add_events(values, state.events, now)
        for unit in state.units:
            _add_unit(values, unit, now)
        for index, channel in enumerate(state.channels):
            self._oldest[index] = _add_channel(values, channel, self._oldest[index])
        for channel, acquired in self._acquired:
            values.append(acquired.issued)
            _add_tiles(values, channel, acquired.tiles)
        for channel, held in self._held:
            _add_tiles(values, channel, held)
        for handle in self._handles:
            _add_handle(values, handle)
        pcs = state.pcs
        values += [barrier.untaken[role] if pcs[role] <= last else 0 for barrier, role, last in self._awaits]
        return tuple(values)


def _last_await(code: Instructions, barrier: str) -> int:
    """The last step from which a role can come to an await of a barrier: beyond it, arrivals are nothing to it."""
    last = -1
    for step, op in enumerate(code.ops):
        if isinstance(op, Await) and op.barrier == barrier:
            last = max([step, *(loop.last for loop in code.loops if loop.first <= step <= loop.last)])
    return last


def _add_events(values: list[int], events: list[Event], now: int) -> None:
    values.append(len(events))
    for when, _, unit, work, bound, _ in sorted(events):
        values += (when - now, work.index, unit is None)
        if bound:
            _add_bound(values, work, bound)


def _add_bound(values: list[int], work: Work, bound: tuple[int, ...]) -> None:
    values += [anchor.made - number for anchor, number in zip(work.anchors, bound, strict=True)]


def _add_unit(values: list[int], unit: UnitState, now: int) -> None:
    values.append(len(unit.queue))
    if not unit.queue:
        return  # a line is never without a request in front of it
    for ready, role, work, bound, _ in sorted(unit.queue, key=lambda request: request[:2]):
        line = unit.lines[role]
        values += (now - ready, work.index, len(line))
        _add_bound(values, work, bound)
        for later, later_bound in line:
            values.append(later.index)
            _add_bound(values, later, later_bound)


def _add_channel(values: list[int], channel: ChannelState, oldest: int) -> int:
    """The oldest tile that is not released; `oldest` is one that is no later."""
    made, slots, unread = channel.made, channel.slots, channel.unread
    first = max(made - slots, oldest)
    while first < made and not unread[first % slots]:
        first += 1
    values.append(made - first)
    values += [made - taken for taken in channel.taken]
    if first < made:
        begin, end = first % slots, made % slots
        values += _between(unread, begin, end)
        values += _between(channel.missing, begin, end)
    return first


def _between(ring: list[int], begin: int, end: int) -> list[int]:
    """The slots of a ring from `begin` up to `end`; all of them if they are the same."""
    return ring[begin:end] if begin < end else ring[begin:] + ring[:end]


def _add_tiles(values: list[int], channel: ChannelState, tiles: deque[int]) -> None:
    values.append(len(tiles))
    if tiles:
        made = channel.made
        values += [made - tile for tile in tiles]


def _add_handle(values: list[int], handle: HandleState) -> None:
    made = handle.made
    values += (made - handle.oldest, len(handle.usable))
    if handle.usable:
        values += sorted(made - serial for serial in handle.usable)
