"""Chunks: every task once, in order within its group, about as long as is meant, and whole groups where they fit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.point import Point
from experiments.sweep import workers
from experiments.sweep.chunks import CHUNK_S, FIRST, Done, Pace, alike, chunks
from experiments.sweep.identity import Task
from experiments.sweep.row import Row
from patterns.run import Counts


def tasks(batches: list[int]) -> list[Task]:
    """A task for each batch, one after another."""
    return [Task(str(i), Point("w", "m", batch=batch, context=i + 1), "") for i, batch in enumerate(batches)]


def done(points: int, seconds: float) -> Done:
    """A chunk of so many points that took so long."""
    return Done((("k", Row("ok")),) * points, seconds, Counts(), "", "m")


@settings(max_examples=60)
@given(st.lists(st.integers(1, 4), max_size=60), st.integers(1, 20), st.integers(0, 9))
def test_every_task_is_in_one_chunk(batches: list[int], points: int, tenths: int) -> None:
    pace, asked = Pace(), tasks(batches)
    found = []
    for chunk in chunks(asked, pace):
        assert chunk
        found += chunk
        pace.learn(done(points, tenths / 10))
    assert sorted(task.key for task in found) == sorted(task.key for task in asked)
    for batch in range(1, 5):
        own = [task for task in found if task.point.batch == batch]
        assert own == [task for task in asked if task.point.batch == batch]
    groups = [alike(task.point) for task in found]
    assert groups == sorted(groups)


def test_chunks_grow_to_their_time_and_keep_groups_whole() -> None:
    pace = Pace()
    found = chunks(tasks([1] * 10 + [2] * 10 + [3] * 30), pace)
    assert len(next(found)) == FIRST
    pace.learn(done(FIRST, FIRST * CHUNK_S / 10))
    # Ten points would take as long as is meant: eight are left of the first group, and ten are the second.
    assert [task.point.batch for task in next(found)] == [1] * 8
    assert [task.point.batch for task in next(found)] == [2] * 10
    pace.learn(done(1000, 1000 * CHUNK_S / 24))
    assert len(next(found)) == 30


def test_a_machine_that_takes_long_has_small_chunks_from_the_first() -> None:
    pace = Pace()
    pace.learn(done(100, 0.1))
    slow = [Task(str(i), Point("w", "slow"), "") for i in range(9)]
    assert len(next(chunks(slow, pace))) == FIRST


def test_modes_of_a_context_stay_together() -> None:
    modes = [Task(f"{mode}{c}", Point("w", "m", mode, context=c), "") for mode in ("a", "b") for c in range(1, 10)]
    pace = Pace()
    pace.learn(done(3, CHUNK_S))
    for chunk in chunks(modes, pace):
        assert len(chunk) % 2 == 0
        assert len({task.point.context for task in chunk}) == len(chunk) // 2


def test_no_workers_are_started_for_a_sweep_that_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "on_cores", lambda *_: pytest.fail("started workers"))
    assert list(workers.run_chunks(workers.Workers(), iter(()), (), Pace(), 0)) == []
