"""When the last of a run's calls has ended, by the rule of calls.py itself, launch after launch: as `totals` has it of
the call level's Program, several times faster.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from patterns.pipeline.calls import CallStep, Launch, Repeat, in_order

# Of more launches than these the simulator leaves periods out, which is faster than going through all.
MOST_LAUNCHES = 20_000


def calls_end(steps: Iterable[CallStep], launch: Launch) -> int | None:
    """The end of all, in picoseconds; None for so many launches that simulating them is faster."""
    repeats = tuple(in_order(steps))
    launches = sum(len(repeat.steps) * repeat.count for repeat in repeats)
    if launches > MOST_LAUNCHES:
        return None
    if launch.prologue_ps > 0:
        return _prepared(_durations(repeats), launch)
    if launch.host_ps > 0:
        return _launched(_durations(repeats), launch)
    running = sum(step.duration_ps * repeat.count for repeat in repeats for step in repeat.steps)
    return launch.once_ps + running + launch.device_ps * max(0, launches - 1)


def _durations(repeats: Sequence[Repeat]) -> Iterator[int]:
    for repeat in repeats:
        own = [step.duration_ps for step in repeat.steps]
        for _ in range(repeat.count):
            yield from own


def _launched(durations: Iterator[int], launch: Launch) -> int:
    """Each call launched by itself: its place in the queue is free when it starts, or ends if there is no queue."""
    host_ps, gap_ps, waits = launch.host_ps, launch.device_ps, not launch.queue_depth
    free = deque([0] * max(1, launch.queue_depth))
    launched, end = launch.once_ps, -gap_ps
    for duration in durations:
        launched = max(launched, free.popleft()) + host_ps
        start = max(launched, end + gap_ps)
        end = start + duration
        free.append(end if waits else start)
    return max(launched, end)


def _prepared(durations: Iterator[int], launch: Launch) -> int:
    """Each call after its prologue, which waits for its launch, the one before and the start of the call before."""
    host_ps, gap_ps = launch.host_ps, launch.device_ps
    free = deque([0] * max(1, launch.queue_depth))
    launched, end, prepared, start = launch.once_ps, -gap_ps, 0, 0
    for duration in durations:
        if host_ps:
            launched = max(launched, free.popleft()) + host_ps
        taken = max(launched, prepared)
        free.append(taken)
        prepared = max(taken, start) + launch.prologue_ps
        start = max(prepared, end + gap_ps)
        end = start + duration
    return max(launched, end)
