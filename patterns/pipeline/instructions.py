"""The flat form of a role's script: a list of steps.

A step is a function of the cycle that does one op and returns the index of the next step; or BLOCKED, and the role
comes back to this step when it is woken; or HOLDING, when it asked for a Run, whose end moves the role on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from patterns.pipeline.script import Loop, Op
from patterns.pipeline.state import Acquired, BarrierState, ChannelState, HandleState, RunState, UnitState

BLOCKED, HOLDING = -1, -2
Step = Callable[[int], int]


@dataclass(frozen=True)
class LoopSite:
    """A loop of a role: its op, the steps [first, last] of its body, and its place in `RunState.left`."""

    role: int
    op: Loop
    first: int
    last: int
    counter: int


class Instructions:
    """One role's steps, as they are compiled. `sorts[i]` is the stall account of a role that is blocked at step i."""

    def __init__(self, state: RunState, role: int) -> None:
        self.state = state
        self.role = role
        self.steps: list[Step] = []
        self.ops: list[Op | None] = []
        self.sorts: list[int] = []
        self.loops: list[LoopSite] = []
        self.depth = 0  # loops around the step that is compiled next
        self.slot_bytes = state.slot_bytes
        self._sort_named: dict[str, int] = {}

    def unit(self, name: str) -> UnitState:
        """The unit of that name."""
        return self.state.unit_named[name]

    def channel(self, name: str) -> ChannelState:
        """The channel of that name."""
        return self.state.channels[self.state.channel_index[name]]

    def barrier(self, name: str) -> BarrierState:
        """The barrier of that name."""
        return self.state.barrier_named[name]

    def acquired(self, channel: str) -> Acquired:
        """This role's acquired tiles of a channel."""
        return self.state.acquired.setdefault((self.role, self.state.channel_index[channel]), Acquired())

    def held(self, channel: str, reader: int) -> deque[int]:
        """The tiles this role holds of a channel as a reader."""
        return self.state.held.setdefault((self.role, self.state.channel_index[channel], reader), deque())

    def handle(self, name: str) -> HandleState:
        """This role's Starts of a handle."""
        return self.state.handles.setdefault((self.role, name), HandleState(self.state.turns))

    def add(self, op: Op | None, step: Step, what: str) -> None:
        """Append a step; a role blocked there stalls for `what`."""
        if what not in self._sort_named:
            self._sort_named[what] = len(self.state.sorts)
            self.state.sorts.append((self.role, what))
            self.state.stalled.append(0)
        self.steps.append(step)
        self.ops.append(op)
        self.sorts.append(self._sort_named[what])
