"""Groups of ops that make one step of a run in the order of data, and the steps that they make, in loops and alone."""

from __future__ import annotations

from dataclasses import dataclass, field

from patterns.pipeline.dataflow import BLOCKED, Dataflow, Give, Queue, Step


@dataclass
class Group:
    """Ops that make one step: what they take, how long the role then works, what they start, and what they give."""

    takes: list[Queue] = field(default_factory=list)
    busy_cycles: int = 0
    starts: list[tuple[int, int, tuple[Give, ...], int]] = field(default_factory=list)
    gives: list[tuple[Give, int]] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.takes or self.busy_cycles or self.starts or self.gives)


def single(run: Dataflow, role: int, group: Group, here: int) -> Step:
    """A group of a role as a step."""
    clock, blocked, ready, free = run.clock, run.blocked, run.ready, run.free[role]
    takes, cycles = tuple(group.takes), group.busy_cycles
    starts, gives = tuple(group.starts), tuple((*give, late) for give, late in group.gives)

    def step() -> int:
        for times in takes:
            if not times:
                blocked[role] = True
                return BLOCKED
        now = clock[role]
        for times in takes:
            time = times.popleft()
            if time > now:
                now = time
        now += cycles
        clock[role] = now
        for place, busy, learn, latency in starts:
            free[place] = end = (free[place] if free[place] > now else now) + busy
            for put, taker in learn:
                put(end + latency)
                if blocked[taker]:
                    blocked[taker] = False
                    ready.append(taker)
        for put, taker, late in gives:
            put(now + late)
            if blocked[taker]:
                blocked[taker] = False
                ready.append(taker)
        return here

    return step


def repeated(run: Dataflow, role: int, group: Group, here: int, counter: int, count: int) -> Step:
    """A loop of a group that starts nothing, as one step: it goes round as often as there is something to take."""
    left, clock, blocked, ready = run.left, run.clock, run.blocked, run.ready
    takes, cycles = tuple(group.takes), group.busy_cycles
    gives = tuple((*give, late) for give, late in group.gives)

    def loop() -> int:
        trips, now = left[counter] or count, clock[role]
        while trips:
            for times in takes:
                if not times:
                    blocked[role] = True
                    left[counter], clock[role] = trips, now
                    return BLOCKED
            for times in takes:
                time = times.popleft()
                if time > now:
                    now = time
            now += cycles
            for put, taker, late in gives:
                put(now + late)
                if blocked[taker]:
                    blocked[taker] = False
                    ready.append(taker)
            trips -= 1
        left[counter], clock[role] = 0, now
        return here

    return loop
