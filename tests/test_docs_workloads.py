"""The page of workloads names every one that is there, and its rows are what the study computes."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.studies.workloads import record
from patterns.library import names

PAGE = Path(__file__).parents[1] / "docs" / "workloads.md"
# The study's columns in the order of the page's.
COLUMNS = (
    *("weights_m", "matrix_gflop", "other_gop", "mb", "ops_per_byte"),
    *("gpus", "gpu_operator_calls", "gpu_library_calls", "gpu_library_us"),
    *("rdus", "rdu_operator_calls", "rdu_fused_calls", "rdu_looped_calls", "rdu_looped_us"),
)
UNITS = {"us": 1, "ms": 1e3, "s": 1e6}


def rows() -> dict[str, list[str]]:
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]
    return {name: rest for name, *rest in cells}


def number(cell: str) -> float:
    """Of a cell, in microseconds if it is a time."""
    figure, _, unit = cell.replace(",", "").partition(" ")
    return float(figure) * UNITS.get(unit, 1)


def test_the_page_has_a_row_for_every_workload() -> None:
    assert tuple(rows()) == names()


@pytest.mark.parametrize("name", ["gqa_decode", "lstm", "mamba2", "llama-3.1-405b"])
def test_a_row_is_what_the_study_computes(name: str) -> None:
    """To four figures; other rows are alike."""
    found = record({"workload": name})
    assert [number(cell) for cell in rows()[name]] == [pytest.approx(found[column], rel=6e-4) for column in COLUMNS]
