"""When to look at a run: in bursts of consecutive loop boundaries of one role, with rests between them.

And at laps: boundaries of the outermost loops of one role, the runner, whose loops hold others. A lap may be longer
than any burst, and is met again after few looks.
"""

from __future__ import annotations

from math import prod

from patterns.pipeline.instructions import Instructions, LoopSite
from patterns.pipeline.state import ENDED, NEVER, RunState

FIRST_BURST = 32  # looks in a row, doubled each time: a period of p boundaries takes a burst of about 2 p looks
# What a look takes, in steps of the run: so much, and for so many values one more. A burst begins when all looks, its
# own included, take at most one in SHARE of the steps; STEPS_FREE are free.
STEPS_PER_LOOK, VALUES_PER_STEP = 10, 5
SHARE, STEPS_FREE = 2, 2000
LAP_SHARE = 8  # looks at laps take at most one in so many steps
PATIENCE = 4096  # steps without a boundary of the watched role after which another one is watched


class Bursts:
    """The run looks if role `watched` has passed `due` loop boundaries, after `resume` steps, or at a lap."""

    def __init__(self, state: RunState, instructions: list[Instructions], allowed: bool) -> None:
        self._state = state
        self._loops = [_iterations(code.loops) for code in instructions]
        self.watched = max(range(len(instructions)), key=lambda role: _boundaries(instructions[role].loops), default=0)
        self.due = NEVER
        self.resume = 0 if allowed and state.left else NEVER
        self._passed = [0] * len(instructions)
        self._length = FIRST_BURST
        self._ahead = 0  # looks left in this burst
        self._spent = 0  # steps that all looks took since the last jump
        self._laps = 0  # laps of the runner so far
        self._spent_on_laps = 0
        if allowed:
            state.runner = _runner(instructions)

    @property
    def resume(self) -> int:
        """Steps after which the run looks, whatever it has passed."""
        return self._resume

    @resume.setter
    def resume(self, executed: int) -> None:
        self._resume = self._state.alarm = executed

    def lap(self, executed: int) -> bool:
        """Whether the runner has ended a lap that is to be looked at."""
        state = self._state
        if state.runner < 0 or state.laps[state.runner] == self._laps:
            return False
        self._laps = state.laps[state.runner]
        self.resume = self._resume  # the lap has rung the alarm
        return state.passes[state.runner] < ENDED and self._spent_on_laps < STEPS_FREE + executed // LAP_SHARE

    def lapped(self, values: int) -> None:
        """One look at so many values, at a lap, is over."""
        self._spent_on_laps += STEPS_PER_LOOK + values // VALUES_PER_STEP

    def wake(self, executed: int) -> bool:
        """Whether a new burst begins: a rest is over. Else a role is watched that has passed boundaries of late."""
        begins = not self._ahead
        if begins:
            self._ahead = self._length
            self._length *= 2
        self._watch()
        self._next(executed)
        return begins

    def looked(self, executed: int, values: int) -> None:
        """One look at so many values is over."""
        steps = STEPS_PER_LOOK + values // VALUES_PER_STEP
        self._ahead -= 1
        self._spent += steps
        if self._ahead and self._spent < STEPS_FREE + executed // SHARE:
            self._next(executed)
        else:
            self._ahead = 0
            self.due, self.resume = NEVER, max(SHARE * (self._spent + self._length * steps), executed)

    def renew(self) -> None:
        """A jump succeeded: look on, it pays."""
        self._ahead, self._spent = self._length, 0

    def _next(self, executed: int) -> None:
        self.due, self.resume = self._state.passes[self.watched] + 1, executed + PATIENCE

    def _watch(self) -> None:
        """Watch the role with most iterations left of those that passed boundaries since this was asked last."""
        passes = self._state.passes
        moving = [role for role, passed in enumerate(passes) if passed != self._passed[role] and passed < ENDED]
        if moving:
            self.watched = max(moving, key=self._iterations_left)
        self._passed = passes.copy()

    def _iterations_left(self, role: int) -> int:
        return sum(self._state.left[counter] * iterations for counter, iterations in self._loops[role])


def _runner(instructions: list[Instructions]) -> int:
    """Of the roles whose outermost loops hold others, the one that passes most loop boundaries; -1 if there is none."""
    sites = [code.loops for code in instructions]
    nested = [role for role, loops in enumerate(sites) if any(_holds_loops(loops, loop) for loop in loops)]
    return max(nested, key=lambda role: _boundaries(instructions[role].loops), default=-1)


def _holds_loops(loops: list[LoopSite], loop: LoopSite) -> bool:
    return any(inner is not loop and _within(inner, loop) for inner in loops)


def _boundaries(loops: list[LoopSite]) -> int:
    """How many loop boundaries a role passes in all."""
    return sum(prod(outer.op.count for outer in loops if _within(loop, outer)) for loop in loops)


def _within(loop: LoopSite, outer: LoopSite) -> bool:
    return outer.first <= loop.first and loop.last <= outer.last


def _iterations(loops: list[LoopSite]) -> tuple[tuple[int, int], ...]:
    """For each loop its counter, and the boundaries passed in one trip, inner loops included."""
    found = {}
    for loop in loops:
        inside = [inner for inner in loops if inner is not loop and _within(inner, loop)]
        found[loop.counter] = 1 + sum(
            prod(between.op.count for between in inside if _within(inner, between)) for inner in inside
        )
    return tuple(found.items())
