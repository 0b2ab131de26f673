"""Errors against everything that was measured: the file is what validation finds, and the page what the file has."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.cli import cli
from experiments.documented import errors as told
from experiments.documented.tables import filled
from experiments.validate import FamilyResult, Question, Validation, validate
from experiments.validation import errors as kept
from experiments.validation.errors import Errors, FigureLine, TableLine, errors_text, found_errors, known_errors
from experiments.validation.family import family_names, fitted, rows_of
from experiments.validation.row import Compared, Row
from experiments.validation.tables import Tables
from gpu_model.machine import Machine

PAGE = Path(__file__).parents[2] / "docs" / "accuracy.md"
# Families that are part of the project and predicted at once.
QUICK = ("launch", "lecture", "framework_kernels")


def nothing(machine: Machine) -> float:
    return 0.0


def gemms(group: str, predicted: list[float], first: int = 0) -> tuple[Compared, ...]:
    """Rows of a table, named by number from `first` on, each measured as 100 us."""
    return tuple(
        Compared(Row(str(n), "h100_sxm", partial(nothing), 100.0, "us", "lib 1", group, family="gemm"), time_us)
        for n, time_us in enumerate(predicted, first)
    )


def validation(rows: tuple[Compared, ...], **of: int) -> Validation:
    kinds = {("h100_sxm", group): count for group, count in of.items()}
    return Validation((FamilyResult("gemm", rows, (), sum(of.values()), {}, kinds),), "a test")


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> kept.Found:
    monkeypatch.setattr(kept, "version", lambda package: "9.9")
    sample = validation(gemms("bf16", [110.0, 90.0]), bf16=2)
    database = validation((*gemms("bf16", [90.0, 70.0], first=1), *gemms("fp4", [150.0])), bf16=5, fp4=1)
    return found_errors(sample, database, 300)


def test_a_line_has_the_errors_of_the_sample_and_of_the_database(found: kept.Found) -> None:
    bf16, fp4 = found.tables
    assert bf16 == TableLine(
        "gemm", "h100_sxm", "bf16", "lib 1", True, 5, 1, Errors(2, 10.0, 10.0, 0.0), Errors(2, 20.0, 28.0, -20.0)
    )
    assert (fp4.group, fp4.fitted, fp4.sample, fp4.in_sample) == ("fp4", False, None, 0)
    assert fp4.database == Errors(1, 50.0, 50.0, 50.0)
    assert found.package == "aiconfigurator-core 9.9"


def test_what_is_written_is_read_again(found: kept.Found, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = replace(found, figures=(FigureLine("launch", "h200", Errors(2, 1.5, 2.0, -0.5)),))
    monkeypatch.setattr(kept, "files", lambda package: tmp_path)
    known_errors.cache_clear()
    for one in (whole, kept.Found("", None, (), ())):
        (tmp_path / kept.FILE).write_text(errors_text(one))
        assert known_errors.__wrapped__() == one


def test_the_projects_file_has_what_is_found_of_quick_families() -> None:
    result = validate(Question(families=QUICK))
    lines = found_errors(None, result, None).figures
    assert {line.family for line in lines} == set(QUICK)
    assert [line for line in known_errors().figures if line.family in QUICK] == list(lines)


def test_the_projects_file_counts_every_figure_of_every_family() -> None:
    counts: dict[tuple[str, str], int] = {}
    for family in family_names():
        for row in rows_of(family, Tables()):
            if row.target:
                counts[family, row.machine] = counts.get((family, row.machine), 0) + 1
    assert {(line.family, line.machine): line.errors.rows for line in known_errors().figures} == counts


def test_lines_that_constants_were_fitted_to_have_a_sample() -> None:
    said = {(family, *line) for family in family_names() for line in fitted(family)}
    assert said == {(line.family, line.machine, line.group) for line in known_errors().tables if line.fitted}
    assert all(line.sample for line in known_errors().tables if line.fitted)
    assert all(line.in_sample <= line.database.rows <= line.of for line in known_errors().tables if line.database)


def test_the_page_has_every_line_of_the_file() -> None:
    page = [
        re.sub("[`|]|&nbsp;", " ", line.replace("&#8203;", "")).split()
        for line in filled(PAGE.read_text(encoding="utf-8")).splitlines()
    ]
    for figure in known_errors().figures:
        off = figure.errors
        cells = [f"{off.rows:,}", f"{off.mean_percent:.1f}", f"{off.p90_percent:.1f}", f"{off.bias_percent:+.1f}"]
        assert [figure.family, figure.machine, *cells] in page
    for line in known_errors().tables:
        begins = [line.family, line.machine, *line.group.split(), "yes" if line.fitted else "no"]
        (row,) = (row for row in page if row[: len(begins)] == begins)
        for off in (line.sample, line.database):
            if off:
                assert f"{off.rows:,}" in row
                assert f"{off.mean_percent:.1f} ({off.p90_percent:.1f})" in " ".join(row)


def test_every_family_that_is_far_off_has_a_reason_and_no_other() -> None:
    assert set(told.reasons()) == set(told.worst())


def test_no_error_is_typed_in_what_the_page_says_of_the_database() -> None:
    own = PAGE.read_text(encoding="utf-8").partition("## Against each published figure")[2]
    assert not re.search(r"\d %", own.partition("The RDU is checked in the same command.")[0])


def test_a_folders_errors_are_not_written_without_the_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.validation.tables.find_spec", lambda name: None)
    (tmp_path / "gemm.csv").write_text("gpu,library,gemm_dtype,m,n,k,latency_us\nh100_sxm,a,bf16,16,4096,4096,12\n")
    file = tmp_path / "errors.yaml"
    asked = ["validate", "gemm", "--aiconfigurator", str(tmp_path), "--write-errors", str(file)]
    result = CliRunner().invoke(cli, asked)
    assert result.exit_code == 2
    assert "those of the database, which pip install 'patternloom[validation]' brings" in result.output
    assert not file.exists()


def test_the_command_writes_the_file(tmp_path: Path) -> None:
    file = tmp_path / "errors.yaml"
    result = CliRunner().invoke(cli, ["validate", "launch", "--write-errors", str(file)])
    assert result.exit_code == 0, result.output
    lines = file.read_text().splitlines()
    own = [line for line in errors_text(known_errors()).splitlines() if "family: launch," in line]
    assert [line for line in lines if "family:" in line] == own != []
