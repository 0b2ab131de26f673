"""The picture of energies: its numbers are the reports', and it says so where none are known."""

from __future__ import annotations

import pytest

from experiments.compare import Comparison, compare
from experiments.plot import energy as plot
from experiments.request import Request


@pytest.fixture(scope="module")
def of_softmax() -> Comparison:
    """A small comparison on machines with energies."""
    return compare(Request("softmax", policies=("library",), modes=("looped",), settings=(("rows", "256"),)))


def test_rows_are_the_reports_parts_and_their_sum(of_softmax: Comparison) -> None:
    rows = plot.draw(of_softmax).rows
    for report in of_softmax.reports:
        own = [row for row in rows if row["machine"] == report.machine]
        assert report.energy is not None
        assert [row["typical_j"] for row in own[:-1]] == [part.typical_j for part in report.energy.parts]
        assert (own[-1]["part"], own[-1]["typical_j"]) == ("whole", report.energy.typical_j)


def test_bars_are_as_long_as_the_energy_and_whiskers_as_its_range(of_softmax: Comparison) -> None:
    axes = plot.draw(of_softmax).figure.axes[0]
    longest = max(report.energy.high_j for report in of_softmax.reports if report.energy)
    unit = {"mJ": 1e3, "uJ": 1e6}[axes.get_xlabel().split()[0]]
    bars = sum(patch.get_width() for patch in axes.patches)  # type: ignore[attr-defined]
    whole = sum(report.energy.typical_j for report in of_softmax.reports if report.energy)
    assert bars == pytest.approx(whole * unit, rel=0.02)  # parts too small to be seen are left out
    ends = [x for line in axes.collections for segment in line.get_segments() for x in segment[:, 0]]  # type: ignore[attr-defined]
    assert max(ends) == pytest.approx(longest * unit)


def test_machines_without_energies_are_told_of() -> None:
    small = (("rows", "16"), ("columns", "16"))
    alike = compare(
        Request("softmax", gpu="unit", rdu="unit", policies=("library",), modes=("looped",), settings=small)
    )
    picture = plot.draw(alike)
    assert picture.rows == ()
    assert picture.figure.axes[0].texts[0].get_text() == plot.UNKNOWN
