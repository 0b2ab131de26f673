"""Sweeps as processes: any number of workers, a driver that is killed, Ctrl-C."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from experiments.sweep.store import opened
from tests.sweep.sweeps import run_in, written

ROOT = Path(__file__).parents[2]
GEMMS = """
fixed: {workload: gemm, machine: h100_sxm}
grid:
  n: [1024, 2048, 3072, 4096]
  m: {range: [128, 1024, 128]}
"""
# A driver that rests after every handful of rows: it can be ended in the middle, however fast the points are. Ctrl-C
# reaches it even if the tests were started in the background, where a shell ignores it for all that they start.
RESTING = """
import signal, time
from experiments.__main__ import main
from experiments.sweep.store import Store

def add_and_rest(store, rows, add=Store.add):
    add(store, rows)
    time.sleep(2)

Store.add = add_and_rest
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""


def driver(*arguments: object, seed: int) -> subprocess.Popen[str]:
    """`patternloom sweep` as the head of a group of processes of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", RESTING, "sweep", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": str(seed)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def rows_in(store: Path) -> int:
    """Rows that a store has, also while it is written to."""
    if not store.exists():
        return 0
    connection = sqlite3.connect(store)
    try:
        return int(connection.execute("SELECT count(*) FROM results").fetchone()[0])
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()


def until(condition: object, seconds: float = 60) -> bool:
    """Whether something comes true in time."""
    assert callable(condition)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return False


def alive_in_group(group: int) -> list[str]:
    """Processes of a group that have not ended."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if words[2] == str(group) and words[0] != "Z":
            found.append(stat.parent.name)
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="counts processes in /proc")
def test_a_killed_driver_leaves_no_workers_and_all_its_rows(tmp_path: Path) -> None:
    file, store = written(tmp_path, GEMMS), tmp_path / "s.db"
    process = driver(file, "-j", 2, "-o", store, "--format", "none", seed=1)
    assert until(lambda: rows_in(store) > 0)
    assert len(alive_in_group(process.pid)) >= 3
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert until(lambda: not alive_in_group(process.pid), 20)
    kept = rows_in(store)
    assert 0 < kept < 32
    with opened(str(store)) as whole:
        summary = run_in(whole, file)
        resumed = list(whole.rows("cheap"))
    assert (summary.ran, dict(summary.statuses)) == (32 - kept, {"ok": 32})
    # The rows of two worker processes, under another hash seed, are those of one process.
    with opened(None) as alone:
        run_in(alone, file)
        assert list(alone.rows("cheap")) == resumed


@pytest.mark.parametrize(
    ("jobs", "number", "status"), [(1, signal.SIGINT, 130), (2, signal.SIGTERM, 143), (1, signal.SIGHUP, 129)]
)
def test_what_stops_a_sweep_keeps_the_rows_so_far(tmp_path: Path, jobs: int, number: int, status: int) -> None:
    file, store = written(tmp_path, GEMMS), tmp_path / "s.db"
    process = driver(file, "-j", jobs, "-o", store, seed=2)
    assert until(lambda: rows_in(store) > 0)
    # Ctrl-C and the end of a terminal are sent to a whole group.
    (os.kill if number == signal.SIGTERM else os.killpg)(process.pid, number)
    printed, told = process.communicate(timeout=60)
    assert (process.returncode, printed) == (status, "")
    assert until(lambda: not alive_in_group(process.pid), 20)
    assert told.strip().splitlines()[-1] == f"stopped; the rows so far are in {store}: run it again to go on"
    assert "Traceback" not in told
    assert "leaked" not in told
    assert 0 < rows_in(store) < 32
