"""Exact steady state: when a run repeats itself, skip whole periods and go on with the rest.

The clock does not move over a jump: loop counters fall, and a Window says how often the last period is repeated.
Tiles keep their numbers, because nothing in a run looks at them but relative to each other.

Two moments with equal signatures are a period if, in each role, at most one loop counter differs, falling, and all
others are equal: then no loop ended between them but those that began again just so. After two equal periods in a
row the second is repeated while every loop that moves has trips left for it and for one more, so that what follows
a window begins as the window did (an account of a gap looks ahead to what ends it).

A span may name a cause that started before its own period. It is as many spans away in each repeat, if the
periods seen in a row reach back to the start of everything that is in flight where a period begins.
"""

from __future__ import annotations

from itertools import islice
from operator import sub

from patterns.pipeline.bursts import Bursts
from patterns.pipeline.causes import Record
from patterns.pipeline.instructions import Instructions
from patterns.pipeline.moments import Counters, Moment, Moments
from patterns.pipeline.signature import Signer
from patterns.pipeline.state import ENDED, RunState
from patterns.pipeline.timeline import Window

KEPT_PER_BURST = 64  # moments remembered of each burst: enough to meet one of them again
CANDIDATES = 16  # how many of the latest equal moments may be the start of the period that ends now


class Jumper:
    """Remembers moments of a run, and jumps when one ends the second of two equal periods."""

    def __init__(self, state: RunState, instructions: list[Instructions], records: list[Record], allowed: bool) -> None:
        self.bursts = Bursts(state, instructions, allowed)
        self.windows: list[Window] = []
        self.skipped = 0
        self._state = state
        self._records = records
        self._signer = Signer(state, instructions)
        self._role_counters = [[loop.counter for loop in code.loops] for code in instructions if code.loops]
        self._in_bursts = Moments()
        self._of_laps = Moments()
        self._keep = 0

    def look(self, now: int, executed: int) -> None:
        """Look at the end of this cycle, and say through `bursts` when to look again."""
        bursts = self.bursts
        if bursts.lap(executed):
            moment = self._moment(now)
            if not self._jump(moment, self._of_laps):
                self._of_laps.remember(moment)
            bursts.lapped(len(moment.signature) + len(moment.stalled))
        passed = self._state.passes[bursts.watched]
        if bursts.due <= passed < ENDED:
            self._look_in_burst(now, executed)
        elif (passed >= ENDED or executed >= bursts.resume) and bursts.wake(executed):
            self._in_bursts.forget_all()
            self._keep = KEPT_PER_BURST

    def _look_in_burst(self, now: int, executed: int) -> None:
        bursts, moments = self.bursts, self._in_bursts
        moment = self._moment(now)
        if self._jump(moment, moments):
            bursts.renew()
            self._keep = KEPT_PER_BURST
        elif self._keep > 0 or moments.alike(moment):
            self._keep -= 1
            moments.remember(moment)
        bursts.looked(executed, len(moment.signature) + len(moment.stalled))

    def _moment(self, now: int) -> Moment:
        state = self._state
        stalled = state.stalled.copy()
        for role, since in enumerate(state.since):
            stalled[state.sort[role]] += now - since
        return Moment(
            now,
            self._signer.sign(now),
            tuple(state.left),
            tuple(stalled),
            self.skipped,
            len(self._records),
            min((event[5] for event in state.events), default=len(self._records)) if self._records else 0,
        )

    def _jump(self, moment: Moment, moments: Moments) -> bool:
        """Jump from this moment if it ends a second equal period that may be repeated; whether it did."""
        alike = moments.alike(moment)
        for before in islice(reversed(alike.values()), CANDIDATES):
            fall = self._fall(before.counters, moment.counters)
            if fall and _reaches_back(alike, before, fall):
                repeats = min((left - 1) // by for left, by in zip(moment.counters, fall, strict=True) if by) - 1
                if repeats > 0:
                    self._repeat(before, moment, fall, repeats)
                    moments.remember(self._moment(moment.cycle))
                    return True
        return False

    def _fall(self, before: Counters, after: Counters) -> Counters | None:
        """By how much each loop counter fell, if at most one did in each role and all others are equal."""
        fall = tuple(map(sub, before, after))
        if min(fall) < 0:
            return None
        for counters in self._role_counters:
            if sum(1 for counter in counters if fall[counter]) > 1:
                return None
        return fall

    def _repeat(self, before: Moment, moment: Moment, fall: Counters, repeats: int) -> None:
        state = self._state
        self.windows.append(Window(before.cycle, moment.cycle, repeats))
        self.skipped += repeats * (moment.cycle - before.cycle + moment.skipped - before.skipped)
        state.left[:] = [left - repeats * by for left, by in zip(state.left, fall, strict=True)]
        for sort, cycles in enumerate(map(sub, moment.stalled, before.stalled)):
            state.stalled[sort] += repeats * cycles
        self._in_bursts.forget_after(before.cycle)
        self._of_laps.forget_after(before.cycle)


def _reaches_back(alike: dict[Counters, Moment], before: Moment, fall: Counters) -> bool:
    """Whether equal periods in a row end at `before`: at least one, and as far back as anything then in flight.

    Equal states evolve equally, so the first of them vouches for all.
    """
    earlier = alike.get(tuple([left + by for left, by in zip(before.counters, fall, strict=True)]))
    if earlier is None:
        return False
    if before.oldest >= earlier.spans:
        return True
    periods = -((before.oldest - before.spans) // (before.spans - earlier.spans))
    first = alike.get(tuple([left + periods * by for left, by in zip(before.counters, fall, strict=True)]))
    return first is not None and before.oldest >= first.spans
