"""Studies over all their cases, which take up to a minute each: `tests/cli` runs them over few.

Run with `pytest -s -o addopts=--import-mode=importlib tests/benchmarks/test_surveys.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.cli import cli
from experiments.study import study_names


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", study_names())
def test_a_study_runs_over_all_its_cases(name: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["run", name, "-o", str(tmp_path)])
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith(f"{name}: ")
    # One sentence or two: more is in the study's details.
    assert len(result.stdout.split()) <= 90
