"""Rows to outcomes, on as many processes as there are processors."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from typing import TYPE_CHECKING

from experiments.validation.row import Compared, Outcome, Refused, Row
from patterns.errors import UserError

if TYPE_CHECKING:
    from gpu_model.machine import Machine

# Fewer rows than this are predicted sooner than other processes would start.
FEW_ROWS = 60
ROWS_AT_ONCE = 16


def outcomes(rows: Sequence[Row], overrides: Mapping[str, str], jobs: int = 0) -> Iterator[Outcome]:
    """Every row's outcome, in order. overrides: parameters of the machines. jobs: processes, 0 for one a processor.

    Raises SpecError, UnknownName for overrides that are wrong.
    """
    asked = [(row, tuple(({**dict(row.settings), **overrides}).items())) for row in rows]
    for gpu, settings in dict.fromkeys((row.gpu, settings) for row, settings in asked):
        machine_with(gpu, settings)
    workers = min(jobs or processors(), len(rows) // FEW_ROWS + 1)
    if workers == 1:
        yield from map(_outcome, asked)
        return
    pool = ProcessPoolExecutor(workers, initializer=_left_to_the_parent)
    try:
        yield from pool.map(_outcome, asked, chunksize=ROWS_AT_ONCE)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _left_to_the_parent() -> None:
    """Ctrl-C ends the parent, which ends its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _outcome(asked: tuple[Row, tuple[tuple[str, str], ...]]) -> Outcome:
    row, settings = asked
    try:
        return Compared(row, row.predict(machine_with(row.gpu, settings)))
    except UserError as error:
        return Refused(row, str(error))


@cache
def machine_with(gpu: str, settings: tuple[tuple[str, str], ...]) -> Machine:
    """A machine with parameters replaced, read once in every process. Raises UnknownName, SpecError."""
    from gpu_model import load_machine

    return load_machine(gpu, dict(settings))
