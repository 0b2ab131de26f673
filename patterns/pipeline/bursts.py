"""When to look at a run: in bursts of consecutive loop boundaries of one role, with rests between them."""

from __future__ import annotations

from patterns.pipeline.instructions import Instructions, LoopSite
from patterns.pipeline.state import ENDED, NEVER, RunState

FIRST_BURST = 32  # looks in a row, doubled each time: a period of p boundaries takes a burst of about 2 p looks
REST = 1  # steps of rest for each value looked at: looking then takes about a quarter of the time
PATIENCE = 4096  # steps without a boundary of the watched role after which another one is watched


class Bursts:
    """The run looks if role `watched` has passed `due` loop boundaries, or after `resume` steps."""

    def __init__(self, state: RunState, instructions: list[Instructions], allowed: bool) -> None:
        self.watched = 0
        self.due = NEVER
        self.resume = 0 if allowed and state.left else NEVER
        self._state = state
        self._loops = [_iterations(code.loops) for code in instructions]
        self._passed = [0] * len(instructions)
        self._length = FIRST_BURST // 2
        self._ahead = 0  # looks left in this burst
        self._values = 0  # how many values were looked at in it

    def wake(self, executed: int) -> bool:
        """Whether a new burst begins: a rest is over. Else a role is watched that has passed boundaries of late."""
        begins = not self._ahead
        if begins:
            self._length *= 2
            self._ahead, self._values = self._length, 0
        self._watch()
        self._next(executed)
        return begins

    def looked(self, executed: int, values: int) -> None:
        """One look at so many values is over."""
        self._ahead -= 1
        self._values += values
        if self._ahead:
            self._next(executed)
        else:
            self.due, self.resume = NEVER, executed + REST * self._values

    def renew(self) -> None:
        """A jump succeeded: look on, it pays."""
        self._ahead = self._length

    def _next(self, executed: int) -> None:
        self.due, self.resume = self._state.passes[self.watched] + 1, executed + PATIENCE

    def _watch(self) -> None:
        passes = self._state.passes
        moving = [role for role, passed in enumerate(passes) if passed != self._passed[role] and passed < ENDED]
        if moving:
            self.watched = max(moving, key=self._iterations_left)
        self._passed = passes.copy()

    def _iterations_left(self, role: int) -> int:
        return sum(self._state.left[counter] * iterations for counter, iterations in self._loops[role])


def _iterations(loops: list[LoopSite]) -> tuple[tuple[int, int], ...]:
    """For each loop its counter, and the boundaries passed in one trip, inner loops included."""
    found: dict[int, int] = {}
    for loop in reversed(loops):  # inner loops first
        inside = [inner for inner in loops if loop.first <= inner.first and inner.last < loop.last]
        direct = [i for i in inside if not any(o is not i and o.first <= i.first and i.last < o.last for o in inside)]
        found[loop.counter] = 1 + sum(inner.op.count * found[inner.counter] for inner in direct)
    return tuple(found.items())
