"""Periods of a run in the order of data: some roles come back to where they were, and all else stands still meanwhile.

What has changed has to be as it was, relative to the time. What nobody touched is as it was if it is the very same: a
role that waits for a tile or a slot that nobody gave it, or for a shared unit that comes to it later; a queue from
which nobody took. It stands still in further periods, too, as far as they end before a unit comes to a role that waits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from heapq import heapify
from itertools import compress

from patterns.pipeline.dataflow import Dataflow, SharedUnit

# A request: when it was asked, of which role, its work, and what stands in line behind it.
Request = tuple[int, int, int, tuple[tuple[int, int], ...]]


@dataclass(slots=True)
class Moment:
    """A run between two moves. outline: where roles are, and how much is in their queues; left: trips left by loop.

    Of some roles: when each moves at the earliest (floors), the times in each of its queues, and at which its units are
    free. units: lanes and requests.
    """

    time: int
    outline: list[int]
    left: list[int]
    floors: dict[int, int] = field(default_factory=dict)
    times: dict[int, list[tuple[int, ...]]] = field(default_factory=dict)
    units: list[tuple[list[int], list[Request]]] = field(default_factory=list)


def glance(run: Dataflow) -> Moment:
    """A moment without times."""
    return Moment(run.time, run.pcs + run.waiting(), run.left[:])


def look(run: Dataflow, moment: Moment, roles: Iterable[int]) -> None:
    """Add the times of these roles to a moment that is now.

    A role's next move comes after `time`, and not before its clock: what is known to be earlier counts as then.
    """
    now = run.time
    for role in roles:
        clock = run.clock[role]
        moment.floors[role] = clock if clock > now and run.blocked[role] else now
        moment.times[role] = [*map(tuple, run.queues[role]), *[(free,) for free in run.free[role]]]
    moment.units = [(sorted(unit.lanes), _requests(unit)) for unit in run.shared]


def _requests(unit: SharedUnit) -> list[Request]:
    return [(asked, role, work, tuple(unit.lines.get(role, ()))) for asked, role, work in sorted(unit.queue)]


def is_period(before: Moment, after: Moment, roles: Collection[int]) -> bool:
    """Whether what follows from one moment follows from the other, too, where only these roles move."""
    return all(_came_back(before, after, role) for role in roles) and all(
        (lanes == others or _since(lanes, before, before.time) == _since(others, after, after.time))
        and _seen(asked, before, roles) == _seen(asking, after, roles)
        for (lanes, asked), (others, asking) in zip(before.units, after.units, strict=True)
    )


def _came_back(before: Moment, after: Moment, role: int) -> bool:
    if role not in before.floors:
        return False
    floor, new_floor = before.floors[role], after.floors[role]
    return floor - before.time == new_floor - after.time and all(
        was == now or _since(was, before, floor) == _since(now, after, new_floor)
        for was, now in zip(before.times[role], after.times[role], strict=True)
    )


def _since(times: Iterable[int], moment: Moment, floor: int) -> list[int]:
    return [(time if time > floor else floor) - moment.time for time in times]


def _seen(requests: Iterable[Request], moment: Moment, roles: Collection[int]) -> list[tuple[int, ...]]:
    """Requests relative to the time, those of roles that do not move as they are."""
    seen: list[tuple[int, ...]] = []
    for asked, role, work, line in requests:
        now = moment.time if role in roles else 0
        later = [when for issued, after in line for when in (max(issued, now) - now, after)]
        seen.append((role, work, asked - now, *later))
    return seen


def comes_next(run: Dataflow, roles: Collection[int]) -> int | None:
    """When a shared unit takes a request of another role at the earliest, None if none has one."""
    waiting = [(unit, asked) for unit in run.shared for asked, role, _ in unit.queue if role not in roles]
    return min([max(unit.lanes[0], asked) for unit, asked in waiting], default=None)


def leave_out(run: Dataflow, before: Moment, after: Moment, roles: Collection[int], cycles: int) -> None:
    """Leave out so many cycles in which only these roles move: what has changed in the last period is so much later."""
    run.time += cycles
    for role in roles:
        run.clock[role] += cycles
        queues, free = run.queues[role], run.free[role]
        changed = [was != now for was, now in zip(before.times[role], after.times[role], strict=True)]
        for times in compress(queues, changed):
            later = [time + cycles for time in times]
            times.clear()
            times.extend(later)
        free[:] = [time + cycles * moved for time, moved in zip(free, changed[len(queues) :], strict=True)]
    for unit, (lanes, _), (others, _) in zip(run.shared, before.units, after.units, strict=True):
        if lanes != others:
            unit.lanes[:] = [free + cycles for free in unit.lanes]
        unit.queue[:] = [(asked + cycles if role in roles else asked, role, work) for asked, role, work in unit.queue]
        heapify(unit.queue)
        for role in roles:
            if line := unit.lines.get(role):
                unit.lines[role] = deque((issued + cycles, work) for issued, work in line)
