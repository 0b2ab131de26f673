"""How fast sweeps are from a cold start, and that workers change nothing, whether they are few, many or killed.

The limits are for two cores that nothing else uses. Run with `pytest -s -o addopts=--import-mode=importlib
tests/benchmarks`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("patternloom")
DASK = (sys.executable, "-m")

HUNDRED = """
fixed: {workload: llama-3.1-8b, machine: h100_sxm, mode: library}
grid:
  batch: [1, 2, 4, 8]
  context: {linspace: [1024, 25600, 25]}
"""
# Model, batch, context, GPU and policy.
OF_GPUS = """
zip:
  machine: [h100_sxm, h100_sxm, h200, h200, b200, b200, a100_sxm, a100_sxm, h100_pcie, h100_pcie]
  mode: [operator, library, operator, library, operator, library, operator, library, operator, library]
grid:
  workload: [llama-3.2-1b, llama-2-7b, llama-3.1-8b, llama-3.1-70b]
  batch: [1, 2, 4, 8, 12, 16, 24, 32, 48, 64]
  context: {linspace: [1024, 25600, 25]}
"""
# A fifth of these are compiled for an RDU, which takes most of the time.
OF_BOTH = OF_GPUS.replace("h100_pcie, h100_pcie", "sn40l, sn40l").replace("operator, library]", "fused, looped]")
CHEAP = """
fixed: {workload: softmax}
zip: {machine: [h100_sxm, sn40l], mode: [pattern, unfused]}
grid: {rows: {range: [64, 1024, 16]}, columns: [1024, 2048, 4096]}
"""


def sweep(folder: Path, text: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """`patternloom sweep` of a text."""
    file = folder / "sweep.yaml"
    file.write_text(text, encoding="utf-8")
    command = [str(COMMAND), "sweep", str(file), *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("text", "arguments", "limit_s"),
    [
        pytest.param(HUNDRED, (), 2.0, id="hundred"),
        pytest.param(OF_GPUS, ("-j", 2), 60.0, id="ten_thousand_of_gpus", marks=pytest.mark.long),
        pytest.param(OF_BOTH, ("-j", 2), 125.0, id="ten_thousand_of_both", marks=pytest.mark.long),
    ],
)
def test_points_are_cheap(text: str, arguments: tuple[object, ...], limit_s: float, tmp_path: Path) -> None:
    begin = time.perf_counter()
    done = sweep(tmp_path, text, *arguments, "--format", "none", "-o", tmp_path / "s.db")
    taken_s = time.perf_counter() - begin
    print(f"\n{done.stderr.splitlines()[-1]}: {taken_s:.1f} s (limit {limit_s} s)")
    assert done.returncode in (0, 3)
    assert "failed" not in done.stderr
    assert taken_s < limit_s


def test_any_number_of_workers_gives_the_same_table(tmp_path: Path) -> None:
    tables = {jobs: sweep(tmp_path, CHEAP, "-j", jobs, "--format", "csv").stdout for jobs in (1, 2, 4, 8, 16)}
    assert tables[1].count("\n") == 367
    assert len(set(tables.values())) == 1


@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_a_cluster_that_loses_a_worker_loses_no_row_and_has_none_twice(tmp_path: Path) -> None:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    address = "tcp://127.0.0.1:18797"
    at = ("--host", "127.0.0.1", "--port", "18797", "--no-dashboard")
    started = [subprocess.Popen([*DASK, "distributed.cli.dask_scheduler", *at], **quiet)]  # type: ignore[call-overload]
    try:
        for _ in range(3):
            alone = ("--nthreads", "1", "--no-nanny", "--no-dashboard")
            started.append(subprocess.Popen([*DASK, "distributed.cli.dask_worker", address, *alone], **quiet))  # type: ignore[call-overload]
        time.sleep(5)
        file, store = tmp_path / "sweep.yaml", tmp_path / "s.db"
        file.write_text(CHEAP, encoding="utf-8")
        arguments = ["sweep", str(file), "--scheduler", address, "--format", "csv", "-o", str(store)]
        driver = subprocess.Popen([COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not store.exists() and driver.poll() is None:
            time.sleep(0.01)
        time.sleep(1.5)
        started[1].send_signal(signal.SIGKILL)
        table, told = driver.communicate(timeout=120)
        assert driver.returncode == 0, told
        assert table == sweep(tmp_path, CHEAP, "-j", 1, "--format", "csv").stdout
    finally:
        for process in started:
            process.kill()
            process.wait()
