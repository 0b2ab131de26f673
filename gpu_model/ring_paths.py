"""Closed forms for a ring of slots between a producer and consumers: the longest paths through its waits.

A path is a chain of waits that no schedule shortens: step after step on the consumer; load after load; or from a step
to the load that needs its slot, and on to the step that needs this load. What is predicted is the longest of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpu_model.machine import Machine
from gpu_model.work import Wave, Work

# Slot counts of a ring that are tried: round ones.
RING_SLOTS = (1, 2, 3, 4, 6, 8, 12, 16, 32)
# Those of a ring of small tiles, whose latency many slots in flight must hide.
STREAM_SLOTS = (1, 2, 4, 8, 16)
# Assumed: with more slots a producer that runs ahead gains nothing.
DEEPEST = 16


def deepest_ring(most: int) -> tuple[int, ...]:
    """The greatest of a few round slot counts that is at most `most`; none where there is no room for any."""
    return tuple(slots for slots in RING_SLOTS if slots <= most)[-1:]


def fullest_ring(most: int) -> tuple[int, ...]:
    """All slots that there is room for, up to DEEPEST; none where there is no room for any."""
    return (min(most, DEEPEST),) if most else ()


def stream_slots(most: int) -> tuple[int, ...]:
    """The slot counts for a stream of small tiles that are at most `most`, fewest first."""
    return tuple(slots for slots in STREAM_SLOTS if slots <= most)


@dataclass(frozen=True)
class Ring:
    """A Work as a ring takes it, in cycles.

    issue: of the producer, for a slot. step: from one step to the next, on the consumers, if nothing keeps them
    waiting. hold: from a full slot to its release. ends: for every wave, from a tile's last step to the end of its
    store.
    """

    work: Work
    slots: int
    issue: int
    step: int
    hold: int
    ends: Sequence[int]

    @property
    def fill_cycles(self) -> int:
        """Until the first slot is full."""
        return self._arrival(self.work.waves[0])

    def _arrival(self, wave: Wave) -> int:
        return self.issue + wave.load.cycles + self.work.latency_cycles

    def _each(self, wave: Wave) -> int:
        """From one step to the next once all are waiting for loads."""
        return max(self.step, self.issue, wave.load.cycles)

    def main_cycles(self, wave: Wave) -> int:
        """A tile's steps, when its first slot is full: they go round the ring never, once, or as often as they can."""
        last, laps = self.work.steps - 1, (self.work.steps - 1) // self.slots
        longest = last * self.step
        for count in (1, laps) if laps else ():
            lap = self.hold + self._arrival(wave)
            longest = max(longest, count * lap + (last - count * self.slots) * self._each(wave))
        return longest + self.hold

    def _empty_cycles(self, main: int) -> int:
        """What the first tile takes longer than `main`: no slot was filled for it while another tile ended."""
        return max(0, (self.work.steps - 1) * self._each(self.work.waves[0]) + self.hold - main)

    def streamed_cycles(self) -> int:
        """All loads one after another, and stores where these take the same way; then the last step and the end."""
        total = self.issue + self.work.latency_cycles + self.hold + self.ends[-1]
        for wave in self.work.waves:
            total += wave.tiles * self.work.steps * max(self.issue, wave.load.cycles)
            total += wave.tiles * wave.stored_on_loads_cycles
        return total - self.work.waves[-1].stored_on_loads_cycles

    def lapped_cycles(self) -> int:
        """All steps round the ring without a look at where tiles end; then the last one's."""
        steps = self.work.tiles * self.work.steps - 1
        lap = sum(wave.tiles * self._arrival(wave) for wave in self.work.waves) // self.work.tiles + self.hold
        over = steps % self.slots * self._each(self.work.waves[0])
        return self.fill_cycles + steps // self.slots * lap + over + self.hold + self.ends[-1]

    def one_by_one_cycles(self) -> int:
        """Every tile with its end before the next one's first step."""
        tiles = zip(self.work.waves, self.ends, strict=True)
        own = sum(wave.tiles * (self.main_cycles(wave) + end) for wave, end in tiles)
        return self.fill_cycles + self._empty_cycles(self.main_cycles(self.work.waves[0])) + own

    def in_turn_cycles(self, consumers: int) -> int:
        """Consumers take tiles in turn: main loops follow each other, ends are beside the others' main loops."""
        ordered, taken, stored = self._in_turn(consumers)
        empty = self._empty_cycles(self.main_cycles(self.work.waves[0]))
        return self.fill_cycles + max(ordered, max(taken, stored) + empty)

    def least_in_turn_cycles(self, consumers: int) -> int:
        """`in_turn_cycles` without what gets less where main loops take longer, by more than these do."""
        ordered, taken, stored = self._in_turn(consumers)
        return self.fill_cycles + max(ordered, taken, stored)

    def _in_turn(self, consumers: int) -> tuple[int, int, int]:
        """From the first full slot: main loops in order, what one consumer has of them, and all stores."""
        loops = own = stores = 0
        for wave, end in zip(self.work.waves, self.ends, strict=True):
            loops += wave.tiles * self.work.steps * self.step
            own += wave.tiles * (self.main_cycles(wave) + end)
            # All ends pass the same units.
            stores += wave.tiles * max(use.cycles for use in (*self.work.finish, wave.store))
        main, end = self.main_cycles(self.work.waves[-1]), self.ends[-1]
        # The consumer of the last tile began as many main loops after the first one as there are consumers before it.
        before = (self.work.tiles - 1) % consumers
        taken = (own + (consumers - 1 - before) * (main + end)) // consumers + before * main
        stepped = (self.work.steps - 1) * self.step + self.hold
        ordered = loops + self.hold - self.step + end + self._empty_cycles(stepped)
        last = max(use.cycles for use in (*self.work.finish, self.work.waves[-1].store))
        return ordered, taken, self.main_cycles(self.work.waves[0]) + stores - last + end


def roomy(work: Work, machine: Machine, step: int, hold: int, ends: Sequence[int]) -> Ring:
    """The ring with a slot for every step, and loads that take no issue but seeing that a slot is free.

    None of its paths gets shorter where there are fewer slots, or where any of these numbers is more.
    """
    return Ring(work, work.tiles * work.steps, machine.barrier_cycles, step, hold, ends)
