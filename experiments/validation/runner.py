"""Rows to outcomes, on as many processes as there are processors."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from typing import Any

from experiments.processors import processors
from experiments.sides import Family, load_machine
from experiments.validation.overrides import Overrides
from experiments.validation.row import Compared, Outcome, Refused, Row
from patterns.errors import UserError

# Fewer rows than this are predicted sooner than other processes would start.
FEW_ROWS = 60
ROWS_AT_ONCE = 16


def outcomes(rows: Sequence[Row], overrides: Overrides, jobs: int = 0) -> Iterator[Outcome]:
    """Every row's outcome, in order. overrides: parameters of machines. jobs: processes, 0 for one a processor.

    Raises SpecError, UnknownName for overrides that are wrong.
    """
    asked = [(row, tuple(({**dict(row.settings), **overrides[row.side]}).items())) for row in rows]
    for side, name, settings in dict.fromkeys((row.side, row.machine, settings) for row, settings in asked):
        machine_with(side, name, settings)
    workers = min(jobs or processors(), len(rows) // FEW_ROWS + 1)
    if workers == 1:
        yield from map(_outcome, asked)
        return
    pool = ProcessPoolExecutor(workers, initializer=_left_to_the_parent)
    try:
        yield from pool.map(_outcome, asked, chunksize=ROWS_AT_ONCE)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _left_to_the_parent() -> None:
    """Ctrl-C ends the parent, which ends its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _outcome(asked: tuple[Row, tuple[tuple[str, str], ...]]) -> Outcome:
    row, settings = asked
    try:
        machine = machine_with(row.side, row.machine, settings)
        return Compared(row, row.predict(machine), row.explain(machine) if row.explain else "")
    except UserError as error:
        return Refused(row, str(error))


@cache
def machine_with(side: Family, name: str, settings: tuple[tuple[str, str], ...]) -> Any:
    """A machine with parameters replaced, read once in every process. Raises UnknownName, SpecError."""
    return load_machine(side, name, dict(settings))
