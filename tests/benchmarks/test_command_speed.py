"""How long the command takes from a cold start, with bytecode compiled: the best of a few runs, in seconds.

The limits are for two cores that nothing else uses. Run with `pytest -s -o addopts=--import-mode=importlib
tests/benchmarks`.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("patternloom")
RUNS = 3


def seconds(arguments: list[str], folder: Path) -> float:
    """The shortest of a few runs of the command, each in a process of its own."""
    best = float("inf")
    for _ in range(RUNS):
        begin = time.perf_counter()
        subprocess.run([COMMAND, *arguments], cwd=folder, check=True, capture_output=True)
        best = min(best, time.perf_counter() - begin)
    return best


@pytest.mark.parametrize(
    ("arguments", "limit_s"),
    [(["--version"], 0.3), (["compare", "llama-3.1-8b"], 3.5)],
)
def test_the_command_is_quick(arguments: list[str], limit_s: float, tmp_path: Path) -> None:
    taken_s = seconds(arguments, tmp_path)
    print(f"\npatternloom {' '.join(arguments)}: {taken_s:.2f} s (limit {limit_s} s)")
    assert taken_s < limit_s
