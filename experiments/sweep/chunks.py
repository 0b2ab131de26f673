"""Points in chunks: those that share kernels together, so many that a chunk takes a good part of a second."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from time import perf_counter
from typing import TYPE_CHECKING

from experiments.sweep.identity import Task, model_version
from experiments.sweep.row import Row, row_of
from patterns.run import Counts, counted

if TYPE_CHECKING:
    from experiments.point import Point

# Handing a chunk over costs some milliseconds, and what a chunk has done is lost when the run is ended.
CHUNK_S = 0.5
FIRST = 2
MOST = 256


@dataclass(frozen=True)
class Done:
    """What came back of a chunk: rows by key, seconds of work, calls simulated and reused, the worker's model."""

    rows: tuple[tuple[str, Row], ...]
    seconds: float
    counts: Counts
    model: str = ""


@dataclass
class Pace:
    """How long points take, learned from what is done."""

    points: int = 0
    seconds: float = 0.0
    given: int = field(default=0)

    def learn(self, done: Done) -> None:
        """Count a chunk that came back."""
        self.points += len(done.rows)
        self.seconds += done.seconds

    def size(self) -> int:
        """Points of the next chunk."""
        if not self.points:
            return FIRST
        return max(1, min(MOST, int(CHUNK_S * self.points / max(self.seconds, 1e-9))))


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without the garbage collector, which would look through what points share again and again: an eighth of the time.

    Next to nothing that a point leaves is in a circle; what is, is collected after the chunk.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def run_chunk(tasks: Sequence[Task], extras: tuple[str, ...]) -> Done:
    """Run points one after another. Called in a worker process."""
    begun, before = perf_counter(), counted()
    with _uncollected():
        rows = tuple((task.key, row_of(task.point, extras, task.content)) for task in tasks)
    return Done(rows, perf_counter() - begun, counted() - before, model_version())


def chunks(tasks: Sequence[Task], pace: Pace) -> Iterator[tuple[Task, ...]]:
    """The tasks in chunks, made as they are asked for; no chunk has points of two groups."""
    ordered = sorted(tasks, key=lambda task: alike(task.point))  # stable: within a group as they were
    for _, group in groupby(ordered, key=lambda task: alike(task.point)):
        left = list(group)
        while left:
            size = pace.size()
            yield tuple(left[:size])
            left = left[size:]


def alike(point: Point) -> tuple[str, ...]:
    """What points have in common that share most kernels: all but machine, mode and context."""
    return (point.workload, point.phase, f"{point.members:06}", f"{point.batch or 0:09}", repr(point.settings))
