"""Who runs the chunks of a sweep: this process, worker processes on the local cores, or a Dask cluster."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

from experiments.ctrl_c import ctrl_c_held
from experiments.processors import processors
from experiments.sweep.chunks import Done, collected_afterwards, run_chunk
from experiments.sweep.identity import Task
from experiments.sweep.watch import watch
from patterns.errors import UserError

if TYPE_CHECKING:
    from experiments.sweep.chunks import Pace

# Seconds of work alone before workers are started, and of work left that makes it worth to start them.
ALONE_S = 1.0
WORTH_S = 3.0

Chunks = Iterator[tuple[Task, ...]]


@dataclass(frozen=True)
class Workers:
    """jobs: processes; None: as many as there are cores, where there is enough to do. scheduler: of a Dask cluster."""

    jobs: int | None = None
    scheduler: str | None = None


def run_chunks(workers: Workers, chunks: Chunks, extras: tuple[str, ...], pace: Pace, points: int) -> Iterator[Done]:
    """What comes back of every chunk, in any order. Raises UserError for a cluster that is not there or is lost."""
    if workers.scheduler is not None:
        from experiments.sweep.cluster import on_cluster

        return on_cluster(workers.scheduler, chunks, extras)
    if workers.jobs == 1:
        return alone(chunks, extras)
    if workers.jobs is not None:
        return on_cores(workers.jobs, chunks, extras)
    return _as_needed(chunks, extras, pace, points)


def alone(chunks: Chunks, extras: tuple[str, ...]) -> Iterator[Done]:
    """Every chunk in this process."""
    with collected_afterwards():
        yield from (run_chunk(chunk, extras) for chunk in chunks)


def _as_needed(chunks: Chunks, extras: tuple[str, ...], pace: Pace, points: int) -> Iterator[Done]:
    """Alone at first, and on all cores where what is left would take long."""
    begun = perf_counter()
    for done in alone(chunks, extras):
        yield done
        left = (points - pace.points) * pace.seconds / max(1, pace.points)
        if perf_counter() - begun > ALONE_S and left > WORTH_S:
            break
    else:
        return
    yield from on_cores(processors(), chunks, extras)


def on_cores(jobs: int, chunks: Chunks, extras: tuple[str, ...]) -> Iterator[Done]:
    """Every chunk in one of `jobs` worker processes, which end with this one. Raises UserError where one is killed."""
    from joblib import Parallel, delayed, parallel_config
    from joblib.externals.loky import get_reusable_executor
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    call = cast(Callable[..., Any], delayed(run_chunk))
    # A worker whose memos have grown large is replaced by a new one, which is nothing to tell.
    warnings.filterwarnings("ignore", message="A worker stopped while some jobs")
    try:
        with parallel_config(backend="loky", n_jobs=jobs, initializer=watch, initargs=(os.getpid(),)):
            parallel = Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs")
            with ctrl_c_held():
                found = parallel(call(chunk, extras) for chunk in chunks)
            yield from found
    except TerminatedWorkerError:
        raise UserError(
            "a worker process was killed, perhaps for want of memory; the rows so far are kept: run it again, with "
            "fewer workers (-j)"
        ) from None
    finally:
        get_reusable_executor().shutdown(kill_workers=True)
