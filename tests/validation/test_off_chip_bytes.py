"""The survey of off-chip bytes: its parts add up, and fusion removes what passes between calls."""

from __future__ import annotations

import pytest

from experiments.point import Point
from experiments.studies.off_chip_bytes import PARTS, finding, part_of, record
from patterns.count import compulsory
from patterns.library import workload


@pytest.mark.parametrize("name", ["softmax", "attention"])
def test_parts_add_up_and_what_fusion_removes_passed_between_calls(name: str) -> None:
    rows = [record(Point(name, "sn40l", mode)) for mode in ("unfused", "fused", "looped")]
    for row in rows:
        assert sum(row[f"{part}_gb"] for part in PARTS) == pytest.approx(row["whole_gb"])
        assert row["needed_gb"] == pytest.approx(compulsory(workload(name)).total_bytes / 1e9)
    unfused, fused, _ = rows
    assert unfused["between_calls_gb"] > fused["between_calls_gb"] == 0
    assert unfused["by_other_calls_gb"] >= fused["by_other_calls_gb"] == 0
    gone = 100 * (unfused["whole_gb"] - fused["whole_gb"]) / unfused["whole_gb"]
    assert f"{gone:.1f} % of" in finding(rows)


@pytest.mark.parametrize(
    ("reason", "part"),
    [
        ("weight read", "needed"),
        ("output written", "needed"),
        ("read between calls", "between_calls"),
        ("written between executions", "between_calls"),
        ("weight read again by another call", "by_other_calls"),
        ("state read again for each tile of seq", "by_tiles"),
        ("read between calls again for each tile of m", "by_tiles"),
        ("input read again where tiles overlap", "by_tiles"),
    ],
)
def test_every_reason_has_its_part(reason: str, part: str) -> None:
    assert part_of(reason) == part
