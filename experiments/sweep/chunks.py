"""Points in chunks: those that share kernels together, so many that a chunk takes a good part of a second."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

from experiments.sweep.identity import Task, model_version
from experiments.sweep.row import Row, row_of
from patterns.run import Counts, counted

if TYPE_CHECKING:
    from experiments.point import Point

# Handing a chunk over costs some milliseconds, and what a chunk has done is lost when the run is ended.
CHUNK_S = 0.7
FIRST = 2
MOST = 256


@dataclass(frozen=True)
class Done:
    """What came back of a chunk: rows by key, seconds of work, calls simulated and reused, the worker's model.

    machine: of the chunk's first point.
    """

    rows: tuple[tuple[str, Row], ...]
    seconds: float
    counts: Counts
    model: str
    machine: str


@dataclass
class Pace:
    """How long points take, learned from what is done: on each machine by itself, for they differ tenfold."""

    points: int = 0
    seconds: float = 0.0
    of_machine: dict[str, tuple[int, float]] = field(default_factory=dict)

    def learn(self, done: Done) -> None:
        """Count a chunk that came back."""
        points, seconds = self.of_machine.get(done.machine, (0, 0.0))
        self.of_machine[done.machine] = points + len(done.rows), seconds + done.seconds
        self.points += len(done.rows)
        self.seconds += done.seconds

    def size(self, machine: str) -> int:
        """Points of the next chunk, which begins with one of this machine."""
        points, seconds = self.of_machine.get(machine, (0, 0.0))
        return max(1, min(MOST, int(CHUNK_S * points / max(seconds, 1e-9)))) if points else FIRST


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without the garbage collector, which would look through what points share again and again: an eighth of the time.

    Next to nothing that a point leaves is in a circle; what is, is collected after the chunk. What stays then is shared
    by the points to come, and is not looked through for those circles again.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.collect(0)
            gc.freeze()
            gc.enable()


@contextmanager
def collected_afterwards() -> Iterator[None]:
    """With what chunks keep from the garbage collector given back to it at the end."""
    before = gc.get_freeze_count()
    try:
        yield
    finally:
        if not before:
            gc.unfreeze()


def run_chunk(tasks: Sequence[Task], extras: tuple[str, ...]) -> Done:
    """Run points one after another. Called in a worker process."""
    begun, before = perf_counter(), counted()
    with _uncollected():
        rows = tuple((task.key, row_of(task.point, extras, task.content)) for task in tasks)
    return Done(rows, perf_counter() - begun, counted() - before, model_version(), tasks[0].point.machine)


def chunks(tasks: Sequence[Task], pace: Pace) -> Iterator[tuple[Task, ...]]:
    """The tasks in chunks, made as they are asked for. They end where points begin that share less, if one is near."""
    ordered = sorted(tasks, key=lambda task: closely_alike(task.point))  # stable: within a group as they were
    begin = 0
    while begin < len(ordered):
        size = pace.size(ordered[begin].point.machine)
        end = _cut(ordered, begin, size)
        yield tuple(ordered[begin:end])
        begin = end


def _cut(ordered: Sequence[Task], begin: int, size: int) -> int:
    """Where a chunk of about `size` tasks ends: at the end of a group that is nearest, if one is not far off."""
    first, last = begin + -(-size // 2), min(begin + size + size // 2, len(ordered))
    if last == len(ordered):
        return last
    near = sorted(range(first, last + 1), key=lambda end: abs(end - begin - size))
    for sharing in (alike, closely_alike):
        ends = (i for i in near if sharing(ordered[i - 1].point) != sharing(ordered[i].point))
        if end := next(ends, 0):
            return end
    return begin + size


def alike(point: Point) -> tuple[str, ...]:
    """What points have in common that share most kernels: all but mode, context and options."""
    which = (point.workload, point.phase, f"{point.members:06}", f"{point.batch or 0:09}", point.machine)
    return (*which, repr(point.settings))


def closely_alike(point: Point) -> tuple[str, ...]:
    """What points have in common that share all kernels of some modes: all but mode and options."""
    return (*alike(point), f"{point.context or 0:012}")
