"""Studies: every one runs, its sentence holds what the table holds, and its files are whole."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.cli import cli
from experiments.study import Study, study_named, study_names
from experiments.survey import Survey

COMPARISONS = [name for name in study_names() if isinstance(study_named(name), Study)]
SURVEYS = [name for name in study_names() if isinstance(study_named(name), Survey)]


@pytest.mark.parametrize("name", COMPARISONS)
def test_a_study_writes_its_files_and_says_what_it_found(name: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["run", name, "-o", str(tmp_path)])
    assert result.exit_code == 0, result.stderr
    folder = tmp_path / name
    reports = json.loads((folder / "reports.json").read_text())["reports"]
    rows = list(csv.DictReader(io.StringIO((folder / "reports.csv").read_text())))
    assert [row["mode"] for row in rows] == [report["mode"] for report in reports]
    configuration = json.loads((folder / "configuration.json").read_text())
    study = study_named(name)
    assert isinstance(study, Study)
    assert configuration["request"]["workload"] == study.request.workload
    for figure in study.figures:
        assert (folder / f"{figure}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (folder / f"{figure}.svg").read_text()
    page = (folder / "page.txt").read_text()
    assert page.startswith(study.question)
    sentence = result.stdout.strip().removeprefix(f"{name}: ")
    assert sentence in " ".join(page.split())


@pytest.mark.parametrize("name", SURVEYS)
def test_a_survey_writes_its_table_and_says_what_it_found(name: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["run", name, "-o", str(tmp_path)])
    assert result.exit_code == 0, result.stderr
    folder, study = tmp_path / name, study_named(name)
    data = json.loads((folder / "table.json").read_text())["rows"]
    rows = list(csv.DictReader(io.StringIO((folder / "table.csv").read_text())))
    assert len(rows) == len(data) > 1
    assert all(list(row) == list(data[0]) for row in rows)
    for figure in study.figures:
        assert (folder / f"{figure}.png").read_bytes().startswith(b"\x89PNG")
        assert (folder / f"{figure}.csv").read_text().count("\n") > 1
    page = " ".join((folder / "page.txt").read_text().split())
    assert page.startswith(study.question)
    assert result.stdout.strip().removeprefix(f"{name}: ") in page


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
