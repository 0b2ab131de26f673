"""What CPU time and memory recordings of 100 MB take, each in a process of its own; two of them no more memory.

Run with `pytest -s -o addopts=--import-mode=importlib tests/benchmarks`.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.profile.runs import Run, tuned_token
from tests.profile.written import kineto_events, kineto_text, nsys_file

TOKENS = 240
MEASURED = """
import json, re, sys, time
from pathlib import Path
from experiments.profile.profiled import profile
from experiments.profile.read import read_recording
begin = time.process_time()
recording = read_recording(Path(sys.argv[1]))
read = time.process_time()
found = profile(recording)
(device,) = found.devices
# Not getrusage: its peak is that of the process that started this one, if that was greater.
peak_kb = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
print(json.dumps({"read_s": read - begin, "account_s": time.process_time() - read,
    "peak_mb": peak_kb / 1024, "events": recording.num_events,
    "steps": len(device.steps), "kernels": device.kernels_per_step}))
"""


@pytest.fixture(scope="module")
def run() -> Run:
    """Tokens of a tuned server, a launch a kernel."""
    run = Run()
    for number in range(TOKENS):
        run.step(f"decode_step {number}", tuned_token(32))
    return run


@pytest.fixture(scope="module")
def trace(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run as torch.profiler writes it."""
    file = tmp_path_factory.mktemp("traces") / "run.json"
    file.write_text(kineto_text(kineto_events(*run.rows)), encoding="utf-8")
    return file


def measured(file: Path) -> dict[str, float]:
    done = subprocess.run([sys.executable, "-c", MEASURED, str(file)], check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    print(f"\n{file.name}, {file.stat().st_size / 1e6:.0f} MB: {found}")
    assert (found["steps"], found["kernels"]) == (TOKENS, 356)
    return found


@pytest.mark.timeout(300)
def test_a_trace_of_100_mb_is_read_in_seconds_and_little_memory(trace: Path, tmp_path: Path) -> None:
    packed = tmp_path / "run.json.gz"
    packed.write_bytes(gzip.compress(trace.read_bytes(), 1))
    assert trace.stat().st_size > 100e6
    for one in (trace, packed):
        found = measured(one)
        assert found["read_s"] + found["account_s"] < 10
        assert found["peak_mb"] < 400


COMMAND = """
import re, sys
from pathlib import Path
from experiments.__main__ import run
status = run(["profile", *sys.argv[1:]])
print(int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024, file=sys.stderr)
sys.exit(status)
"""


def peak_mb(*arguments: str) -> float:
    """Of the command."""
    done = subprocess.run([sys.executable, "-c", COMMAND, *arguments], check=True, capture_output=True, text=True)
    peak = float(done.stderr.split()[-1])
    print(f"\n{arguments[-1]}: {peak:.0f} MB")
    return peak


@pytest.mark.timeout(300)
def test_two_files_and_a_page_take_as_little_memory_as_one(trace: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_bytes(trace.read_bytes().replace(b'"device": 0', b'"device": 1'))
    alone = peak_mb(str(trace))
    assert peak_mb(str(trace), str(other)) < alone + 30
    assert peak_mb(str(trace), "-o", str(tmp_path / "page.html")) < alone + 60


@pytest.mark.timeout(300)
def test_an_export_of_as_many_kernels_too(run: Run, tmp_path: Path) -> None:
    found = measured(nsys_file(tmp_path / "run.sqlite", *run.rows))
    assert found["read_s"] + found["account_s"] < 10
    assert found["peak_mb"] < 400
