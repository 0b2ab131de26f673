"""A Program in motion in the order of its data: each role's clock runs ahead as far as what it takes is known.

Everything that is handed on is a time in a queue: when a tile is full, when a slot is free, when a Start is usable. A
queue has one role that takes from it. Units that several roles ask serve in the order of time: what is not asked yet
waits for something that such a unit has still to do, and so is asked later than all that is.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from heapq import heappop, heappush, heapreplace
from typing import NamedTuple

from patterns.pipeline.program import Program

BLOCKED, HOLDING = -1, -2
Step = Callable[[], int]
Queue = deque[int]
# Where a time goes: a queue's append, and the role that takes from it.
Give = tuple[Callable[[int], None], int]


class Work(NamedTuple):
    """What is asked of a shared unit: whether the role waits for its end, else who learns when it is usable."""

    cycles: int
    latency: int
    waited: bool
    gives: tuple[Give, ...]


class SharedUnit:
    """Requests, earliest first and then by role: at most one a role, its later ones stand in a line behind it."""

    __slots__ = ("asked", "lanes", "lines", "queue")

    def __init__(self, lanes: int, roles: int) -> None:
        self.lanes = [0] * lanes  # a heap: when each is free
        self.queue: list[tuple[int, int, int]] = []  # a heap: when, role, work
        self.asked = [False] * roles
        self.lines: defaultdict[int, deque[tuple[int, int]]] = defaultdict(deque)

    def ask(self, now: int, role: int, work: int) -> None:
        """One request."""
        if self.asked[role]:
            self.lines[role].append((now, work))
        else:
            self.asked[role] = True
            heappush(self.queue, (now, role, work))

    @property
    def next_take(self) -> int:
        """When it takes its next request; there is one."""
        return max(self.lanes[0], self.queue[0][0])


class Dataflow:
    """Everything a run changes. Lists without a remark are by role."""

    def __init__(self, program: Program) -> None:
        roles = len(program.roles)
        self.clock = [0] * roles
        self.pcs = [0] * roles
        self.blocked = [False] * roles  # it waits for something to be put into one of its queues
        self.ended = [False] * roles
        self.ready = list(range(roles))  # roles that may go on
        self.queues: list[list[Queue]] = [[] for _ in range(roles)]
        self.taken: list[Queue] = []  # all queues of roles that have not ended, as far as `some_ended` is False
        self.some_ended = True
        self.free: list[list[int]] = [[] for _ in range(roles)]  # when units are free that it has alone
        self.works: list[Work] = []
        self.shared: list[SharedUnit] = []
        self.left: list[int] = []  # by loop: trips left, this one included; 0 outside the loop
        self.counters: list[list[int]] = [[] for _ in range(roles)]  # its loops
        self.due = -1  # the loop at whose boundary the run is to be looked at
        self.lap = False  # whether it is an outermost loop of the role whose laps are
        self.time = 0  # when a shared unit took its latest request
        self.latest = 0  # the last thing known that no queue holds

    def queue(self, role: int, times: Queue) -> Queue:
        """A new queue of a role."""
        self.queues[role].append(times)
        return times

    def grant(self) -> bool:
        """Let the shared unit that is first take its next request. False if nothing is asked."""
        shared = self.shared
        first = shared[0] if len(shared) == 1 else self._first()
        if first is None or not first.queue:
            return False
        asked, role, index = heappop(first.queue)
        cycles, latency, waited, gives = self.works[index]
        lanes = first.lanes
        self.time = now = asked if asked > lanes[0] else lanes[0]
        end = now + cycles
        heapreplace(lanes, end)
        line = first.lines.get(role)
        if line:
            issued, later = line.popleft()
            heappush(first.queue, (max(now, issued), role, later))
        else:
            first.asked[role] = False
        if waited:
            self.clock[role] = end
            self.pcs[role] += 1
            self.ready.append(role)
        for put, taker in gives:
            put(end + latency)
            if self.blocked[taker]:
                self.blocked[taker] = False
                self.ready.append(taker)
        return True

    def _first(self) -> SharedUnit | None:
        """The shared unit that takes its next request first."""
        first = None
        for unit in self.shared:
            if unit.queue and (first is None or unit.next_take < first.next_take):
                first = unit
        return first

    def waiting(self) -> list[int]:
        """How much is in each queue of a role that has not ended."""
        if self.some_ended:
            self.some_ended = False
            queues = zip(self.queues, self.ended, strict=True)
            self.taken = [times for own, ended in queues if not ended for times in own]
        return list(map(len, self.taken))

    def close(self, role: int) -> None:
        """A role that ended has nothing more to take: when the last of what is in its queues came counts."""
        self.latest = max(self.latest, self.clock[role])
        for times in self.queues[role]:
            if times:
                self.latest = max(self.latest, *times)
                times.clear()
