"""`patternloom report`: one file, the numbers of `patternloom compare`, the same bytes for the same question."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.cli import cli
from experiments.compare import compare
from experiments.page.report import report_page
from experiments.request import Request
from experiments.text.comparison import bytes_table, calls_table
from experiments.text.energy import energy_parts
from experiments.text.parts import parts_tables
from experiments.text.table import Table
from gpu_model.machine import read_machine

REQUEST = Request("softmax", policies=("operator", "library"), modes=("fused",), settings=(("rows", "2048"),))
ARGUMENTS = ("softmax", "--policy", "operator", "--policy", "library", "--mode", "fused", "--set", "rows=2048")


def test_it_writes_what_compare_finds_and_the_same_bytes_again(tmp_path: Path) -> None:
    file = tmp_path / "new.html"
    result = CliRunner().invoke(cli, ["report", *ARGUMENTS, "-o", str(file)])
    assert result.exit_code == 0, result.stderr
    assert result.stdout == f"{file}\n"
    comparison = compare(REQUEST)
    page = file.read_text(encoding="utf-8")
    assert page == report_page(comparison)
    cells = {unescape(re.sub(r"<[^>]*>", "", cell)) for cell in re.findall(r"<(?:td|th)[^>]*>(.*?)</t[dh]>", page)}
    reports = comparison.reports
    parts = [
        calls_table(comparison),
        bytes_table(reports),
        *energy_parts(reports, "run", 1),
        *parts_tables(reports, "run"),
    ]
    tables = [part for part in parts if isinstance(part, Table)]
    assert len(tables) == 7
    assert [cell for table in tables for row in table.rows for cell in row if cell.strip() not in cells] == []
    sources = {origin.used.source for origin in read_machine("h100_sxm").origins}
    assert [source for source in sources if source not in cells] == []
    assert "asked: settings</dt><dd>rows=2048</dd>" in page


@pytest.mark.parametrize("place", ["", "missing/new.html"])
def test_a_place_that_cannot_be_written_is_refused_at_once(place: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["report", "no such workload", "-o", str(tmp_path / place)])
    assert result.exit_code == 2
    assert "cannot write" in result.stderr
    assert list(tmp_path.iterdir()) == []
