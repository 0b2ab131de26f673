"""A sweep into a store: what is there already is not run again, and what is done is kept, whatever happens next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from experiments.sweep.chunks import Pace, chunks
from experiments.sweep.expansion import expand
from experiments.sweep.identity import Task, tasks_of
from experiments.sweep.row import OK
from experiments.sweep.store import Written, counted_statuses
from experiments.sweep.workers import Workers, run_chunks
from patterns.plural import number_of
from patterns.run import Counts

if TYPE_CHECKING:
    from experiments.sweep.progress import Tell
    from experiments.sweep.read import Sweep
    from experiments.sweep.store import Store


class Progress(Protocol):
    """What makes a Tell for so many points."""

    def __call__(self, points: int) -> AbstractContextManager[Tell]: ...


@dataclass(frozen=True)
class Summary:
    """What a sweep came to. statuses: of all its rows. ran: points that were run now, in `seconds`.

    outdated: of these, those that had a row before, of another release of the model or of files that were changed.
    dropped: points that the last sweep of the name had in the store, and that are none of its own now.
    """

    statuses: Mapping[str, int]
    ran: int
    seconds: float
    counts: Counts
    outdated: int = 0
    dropped: int = 0

    @property
    def points(self) -> int:
        """All rows."""
        return sum(self.statuses.values())

    @property
    def failed(self) -> int:
        """Rows that are not ok."""
        return self.points - self.statuses.get(OK, 0)


def run_sweep(sweep: Sweep, store: Store, workers: Workers, progress: Progress, *, retry: bool = False) -> Summary:
    """Run what the store lacks of a sweep; with `retry` also what was not ok. Raises UserError; what is done stays."""
    cases = expand(sweep)
    asked = tasks_of([case.point for case in cases], sweep.extras)
    points = [(task.key, dict(case.parameters)) for task, case in zip(asked, cases, strict=True)]
    outdated, dropped = store.outdated(sweep.name, points), store.dropped(sweep.name, points)
    store.enter(Written(sweep.name, sweep.about, sweep.columns, sweep.varied), points)
    have = store.statuses()
    tasks = _missing(asked, {key for key, status in have.items() if status == OK or not retry})
    begun, pace, counts = perf_counter(), Pace(), Counts()
    with progress(len(tasks)) as tell:
        for done in run_chunks(workers, chunks(tasks, pace), sweep.extras, pace, len(tasks)):
            store.add(done.rows)
            have |= {key: row.status for key, row in done.rows}
            pace.learn(done)
            counts += done.counts
            tell(len(done.rows))
    statuses = counted_statuses(have[task.key] for task in asked)
    return Summary(statuses, len(tasks), perf_counter() - begun, counts, outdated, dropped)


def _missing(tasks: Iterable[Task], have: set[str]) -> list[Task]:
    """The tasks whose keys have no row, each key once."""
    return list({task.key: task for task in tasks if task.key not in have}.values())


def summary_text(summary: Summary) -> str:
    """'8 points: 4 ok, 4 infeasible; ...' in a line."""
    if not summary.points:
        return "no points: nothing passes the filter, or nothing is listed"
    told = ", ".join(f"{number:,} {status}" for status, number in summary.statuses.items())
    parts = [f"{number_of(summary.points, 'point')}: {told}"]
    reused = summary.points - summary.ran
    if reused:
        parts.append(f"{reused:,} were there already or are run alike")
    if summary.outdated:
        rows = number_of(summary.outdated, "row")
        parts.append(f"{rows} of another release, or of files that were changed since, are left aside")
    if summary.dropped:
        points = number_of(summary.dropped, "point")
        parts.append(f"{points} of a sweep of this name that was there before left its table (the rows stay)")
    if summary.ran:
        each = summary.seconds * 1e3 / summary.ran
        parts.append(f"{summary.seconds:,.1f} s, {each:,.1f} ms a point")
        simulated, stood = summary.counts.simulated, summary.counts.reused
        parts.append(f"{simulated:,} kernels and sections simulated, {stood:,} reused")
    return "; ".join(parts)
