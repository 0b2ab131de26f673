"""From a role's ops to steps of its run in the order of data. A step does all that follows from one wait.

A step takes the latest of some queues, works on units that the role has alone, and gives what it made: it returns the
index of the next step; BLOCKED, and comes again once something is put into a queue of its role; or HOLDING, when a
shared unit has to end its work first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from patterns.pipeline.dataflow import BLOCKED, HOLDING, Dataflow, Give, Queue, Step, Work
from patterns.pipeline.dataflow_groups import Group, repeated, single
from patterns.pipeline.program import Program
from patterns.pipeline.script import Acquire, Commit, Fill, Finish, Free, Loop, Op, Release, Run, Start, Wait
from patterns.pipeline.tokens import PASSED, SHARED, Key, Wiring

# Which loops ask for looks: none, those whose trips take as long as the one before, or the outermost at each trip, too.
Watch = Literal["", "steady", "laps"]


@dataclass(frozen=True)
class Queues:
    """The queues of a Program: of each channel's slots as its readers free them and of its tiles, by reader; of each
    handle that something waits for, by role; and of which units there are that roles share. readers: of each channel.
    """

    slots: dict[Key, Queue]
    tiles: dict[Key, Queue]
    handles: dict[tuple[int, str], Queue]
    shared: dict[str, int]
    readers: dict[str, int]


class Writer:
    """Writes the steps of one role. watch: which boundaries of its loops are looked at."""

    def __init__(
        self, run: Dataflow, program: Program, wiring: Wiring, queues: Queues, role: int, watch: Watch
    ) -> None:
        self.steps: list[Step] = []
        self._run = run
        self._readers = queues.readers
        self._wiring = wiring
        self._queues = queues
        self._role = role
        self._watch = watch
        self._group = Group()
        self._own: dict[str, int] = {}  # place in the role's `free` of a unit that it has alone
        self._depth = 0
        self._write(program.roles[role].script)
        self._flush()
        self._end()

    def _write(self, script: Iterable[Op]) -> None:
        for op in script:
            _WRITE[type(op)](self, op)

    def acquire(self, op: Acquire) -> None:
        """A slot of a channel is free once all its readers have freed it."""
        self._take([self._queues.slots[op.channel, reader] for reader in range(self._readers[op.channel])])

    def wait(self, op: Wait) -> None:
        """A tile of a channel."""
        self._take([self._queues.tiles[op.channel, op.reader]])

    def finish(self, op: Finish) -> None:
        """What a Start said when it was usable."""
        self._take([self._queues.handles[self._role, op.handle]])

    def _take(self, takes: list[Queue]) -> None:
        group = self._group
        # A step sees whether a queue has a time, not whether it has two.
        twice = any(times is one for times in takes for one in group.takes)
        if twice or group.busy_cycles or group.starts or group.gives:
            self._flush()
        self._group.takes += takes

    def give(self, op: Commit | Release) -> None:
        """A tile is full, or a slot free, at once."""
        self._group.gives += [(give, 0) for give in self._gives_of(op)]

    def _gives_of(self, op: Commit | Release | Fill | Free) -> list[Give]:
        """Where the time goes at which an op happens."""
        name = op.channel
        if isinstance(op, Release | Free):
            return [(self._queues.slots[name, op.reader].append, self._wiring.maker[name])]
        ends = [(name, reader) for reader in range(self._readers[name])]
        return [(self._queues.tiles[key].append, self._wiring.reader[key]) for key in ends]

    def work(self, op: Run) -> None:
        """Work that the role waits for."""
        if self._wiring.sorts[op.unit] == SHARED:
            self._ask(self._add_work(op.cycles, 0, True, ()), self._queues.shared[op.unit], True)
        elif op.unit in self._wiring.started:
            self._wait_for_own(op)
        else:
            if self._group.starts or self._group.gives:
                self._flush()
            self._group.busy_cycles += op.cycles

    def start(self, op: Start) -> None:
        """Work that it does not wait for."""
        gives = [give for effect in op.then if isinstance(effect, Fill | Free) for give in self._gives_of(effect)]
        if (self._role, op.handle) in self._queues.handles:
            gives.append((self._queues.handles[self._role, op.handle].append, self._role))
        if not gives:
            # Nobody learns when it is usable, but the run is not over before.
            gives.append((self._run.queue(self._role, deque(maxlen=1)).append, self._role))
        sort = self._wiring.sorts[op.unit]
        if sort == SHARED:
            self._ask(self._add_work(op.cycles, op.latency, False, tuple(gives)), self._queues.shared[op.unit], False)
        elif sort == PASSED:
            self._group.gives += [(give, op.latency) for give in gives]
        else:
            if self._group.gives:
                self._flush()
            self._group.starts.append((self._place(op.unit), op.cycles, tuple(gives), op.latency))

    def _place(self, unit: str) -> int:
        free = self._run.free[self._role]
        if unit not in self._own:
            self._own[unit] = len(free)
            free.append(0)
        return self._own[unit]

    def _add_work(self, cycles: int, latency: int, waited: bool, gives: tuple[Give, ...]) -> int:
        works = self._run.works
        works.append(Work(cycles, latency, waited, gives))
        return len(works) - 1

    def _flush(self) -> None:
        """Write the group as a step."""
        if not self._group.empty:
            group, self._group = self._group, Group()
            self.steps.append(single(self._run, self._role, group, len(self.steps) + 1))

    def _ask(self, work: int, unit: int, waited: bool) -> None:
        self._flush()
        run, role, here = self._run, self._role, len(self.steps) + 1
        clock, ask, result = run.clock, run.shared[unit].ask, HOLDING if waited else here

        def request() -> int:
            ask(clock[role], role, work)
            return result

        self.steps.append(request)

    def _wait_for_own(self, op: Run) -> None:
        """Work that waits for what was started on the same unit before."""
        self._flush()
        clock, free, role = self._run.clock, self._run.free[self._role], self._role
        place, cycles, here = self._place(op.unit), op.cycles, len(self.steps) + 1

        def work() -> int:
            clock[role] = free[place] = max(clock[role], free[place]) + cycles
            return here

        self.steps.append(work)

    def _end(self) -> None:
        run, role = self._run, self._role

        def end() -> int:
            run.ended[role] = run.some_ended = True
            run.close(role)
            return BLOCKED

        self.steps.append(end)

    def loop(self, op: Loop) -> None:
        """A loop; of a single step, it is one step itself."""
        if not op.count or not op.body:
            return
        self._flush()
        run, left, role, count = self._run, self._run.left, self._role, op.count
        counter, first = len(left), len(self.steps) + 1
        left.append(0)
        run.counters[role].append(counter)
        place = len(run.counters[role])

        def enter() -> int:
            left[counter] = count
            return first

        self.steps.append(enter)
        self._depth += 1
        self._write(op.body)
        self._depth -= 1
        if not (self._watch or self._group.starts or self._group.empty) and len(self.steps) == first:
            group, self._group = self._group, Group()
            self.steps[-1] = repeated(run, role, group, first, counter, count)
            return
        self._flush()
        lap = self._watch == "laps" and not self._depth and len(run.counters[role]) > place
        self.steps.append(self._again(counter, first, len(self.steps) + 1, lap))

    def _again(self, counter: int, first: int, after: int, lap: bool) -> Step:
        """The boundary of a loop. Where it is watched and two trips took as long, or at a lap, it asks for a look."""
        run, left, clock, role = self._run, self._run.left, self._run.clock, self._role
        last = gap = 0

        def again() -> int:
            trips = left[counter] - 1
            left[counter] = trips
            return first if trips else after

        def look() -> int:
            nonlocal last, gap
            now = clock[role]
            if lap or (now - last == gap and not run.lap):
                run.due, run.lap = counter, lap
            last, gap = now, now - last
            return again()

        return look if self._watch else again


_WRITE: dict[type[Op], Callable[[Writer, Any], None]] = {
    Acquire: Writer.acquire,
    Wait: Writer.wait,
    Finish: Writer.finish,
    Commit: Writer.give,
    Release: Writer.give,
    Run: Writer.work,
    Start: Writer.start,
    Loop: Writer.loop,
}
