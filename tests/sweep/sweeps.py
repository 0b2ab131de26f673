"""Sweeps of cheap points, for tests: written to a file, run in this process."""

from __future__ import annotations

import csv
import io
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.sweep.progress import untold
from experiments.sweep.read import read_sweep
from experiments.sweep.run import Summary, run_sweep
from experiments.sweep.store import Store, opened
from experiments.sweep.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from experiments.sweep.progress import Tell

ALONE = Workers(jobs=1)
# Twelve points of a graph of three nodes.
SOFTMAX = """
fixed: {workload: softmax, mode: pattern}
grid:
  machine: [h100_sxm]
  rows: [16, 32, 48]
  columns: [64, 128, 192, 256]
"""


def written(folder: Path, text: str, name: str = "cheap") -> Path:
    """A sweep file in a folder."""
    path = folder / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def run_into(store: Path | None, file: Path, *, retry: bool = False) -> Summary:
    """A sweep into a store, alone."""
    with opened(None if store is None else str(store)) as kept:
        return run_in(kept, file, retry=retry)


def run_in(kept: Store, file: Path, *, retry: bool = False) -> Summary:
    """A sweep into an open store, alone."""
    return run_sweep(read_sweep(file), kept, ALONE, quiet, retry=retry)


@contextmanager
def quiet(points: int) -> Iterator[Tell]:
    """No progress."""
    yield untold


def rows_of(text: str) -> list[dict[str, str]]:
    """The rows of a CSV text."""
    return list(csv.DictReader(io.StringIO(text)))
