"""Studies: every one runs, its sentence holds what the table holds, and its files are whole."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.cli import cli
from experiments.study import study_named, study_names


@pytest.mark.parametrize("name", study_names())
def test_a_study_writes_its_files_and_says_what_it_found(name: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["run", name, "-o", str(tmp_path)])
    assert result.exit_code == 0, result.stderr
    folder = tmp_path / name
    reports = json.loads((folder / "reports.json").read_text())["reports"]
    rows = list(csv.DictReader(io.StringIO((folder / "reports.csv").read_text())))
    assert [row["mode"] for row in rows] == [report["mode"] for report in reports]
    configuration = json.loads((folder / "configuration.json").read_text())
    assert configuration["request"]["workload"] == study_named(name).request.workload
    for figure in study_named(name).figures:
        assert (folder / f"{figure}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (folder / f"{figure}.svg").read_text()
    page = (folder / "page.txt").read_text()
    assert page.startswith(study_named(name).question)
    sentence = result.stdout.strip().removeprefix(f"{name}: ")
    assert sentence in " ".join(page.split())


def test_the_headline_is_what_was_counted(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["run", "calls_per_token", "-o", str(tmp_path)])
    reports = json.loads((tmp_path / "calls_per_token" / "reports.json").read_text())["reports"]
    calls = {report["mode"]: report["calls"] for report in reversed(reports)}
    for mode in ("operator", "library", "looped"):
        assert f"{calls[mode]:,}" in result.stdout


def test_an_unknown_study_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["run", "calls_per_tokens", "-o", str(tmp_path / "new")])
    assert result.exit_code == 2
    assert "did you mean 'calls_per_token'?" in result.stderr
    assert not (tmp_path / "new").exists()
