"""What stands beside the bars and points of pictures: titles that keep clear of legends, ticks of narrow ranges."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

from experiments.gantt import Gantt
from experiments.plot.overlap import gantt_title
from experiments.plot.predicted_measured import label_axes


def gantt(call: str) -> Gantt:
    return Gantt("lecture_sm", "library", call, 1, 1, 1, (), (), 0)


def test_a_title_that_would_reach_the_legend_is_in_two_lines() -> None:
    assert gantt_title(gantt("c"), ("matrix", "memory")) == "lecture_sm, library: call c"
    crowded = ("matrix", "vector", "special", "memory", "network", "issue")
    assert gantt_title(gantt("megakernel"), crowded) == "lecture_sm, library:\ncall megakernel"


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(0.7, 4.1, [1, 2, 3]), (1300, 4500, [2000, 3000]), (0.6, 60, [1, 2, 5, 10, 20, 50]), (2, 3000, [10, 100, 1000])],
)
def test_the_narrower_a_range_the_more_ticks_it_has(low: float, high: float, ticks: list[float]) -> None:
    axes = Figure().subplots()
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high))
    label_axes(axes, low, high)
    assert [tick for tick in axes.get_xticks() if tick != pytest.approx(0.7)] == ticks
