"""The page of workloads names every one that is there."""

from __future__ import annotations

from pathlib import Path

from patterns.library import names

PAGE = Path(__file__).parents[1] / "docs" / "workloads.md"


def test_the_page_has_a_row_for_every_workload() -> None:
    rows = [line.split(" | ")[0].removeprefix("| ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    assert rows[1:] == list(names())
