"""What a run takes in energy: a bar a machine and mode, by what it is spent on, with the range of its sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from experiments.charting.palette import AMBER, BLUE, BROWN, CYAN, GREY, ORANGE, PURPLE, RED, SAND, text_on
from experiments.charting.sheet import TWO_COLUMNS, beside, both_widths, legend_below, sheet
from experiments.picture import Picture
from experiments.text.comparison import run_word, title
from experiments.text.energy import joule_unit, joules_text, range_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments.compare import Comparison
    from patterns.energy import Energy
    from patterns.report import Report

OF = "comparison"
# Colours of the classes of units where a part is of one; hatches keep neighbours apart without colours.
STYLES: Mapping[str, tuple[str, str, str]] = {
    "matrix": ("matrix", RED, ""),
    "vector": ("vector", AMBER, "\\\\\\\\"),
    "special": ("special functions", ORANGE, "...."),
    "issue": ("instructions issued", PURPLE, "----"),
    "smem": ("shared memory", SAND, "xxxx"),
    "onchip": ("PMUs", SAND, "++++"),
    "l2": ("L2", GREY, "////"),
    "hbm": ("HBM", BLUE, ""),
    "ddr": ("DDR", BROWN, "oooo"),
    "network": ("network", CYAN, "||||"),
    "static": ("static: power at rest", "#dddddd", ""),
}
BAR_INCHES = 0.27
# Of the height of a bar's place: the bar, and how far below its middle the range is.
BAR, WHISKER = 0.56, 0.41
# Share of the axis from which on a part is seen at all.
LEAST_SEEN = 0.002
# And from which on it has room for its percentage, in one column and in two.
LEAST_NAMED = (0.13, 0.045)
# Length of the axis, of the longest range, in one column and in two: numbers stand beside it.
NUMBERS_ROOM = (1.9, 1.3)
UNKNOWN = "The files of these machines have no energies."
Known = Sequence[tuple["Report", "Energy"]]


def draw(comparison: Comparison) -> Picture:
    """Stacked bars of the typical energy, and a whisker from its low to its high end."""
    known = [(report, report.energy) for report in comparison.reports if report.energy]
    return both_widths(lambda width: _figure(width, comparison, known), energy_rows(known))


def energy_rows(known: Known) -> list[dict[str, object]]:
    """The bars as data: a row a part, and one of the whole."""
    rows: list[dict[str, object]] = []
    for report, energy in known:
        for part in energy.parts:
            rows.append(_row(report, part.name, part.num_events, part.low_j, part.typical_j, part.high_j))
        rows.append(_row(report, "whole", "", energy.low_j, energy.typical_j, energy.high_j))
    return rows


def _row(
    report: Report, part: str, num_events: int | str, low_j: float, typical_j: float, high_j: float
) -> dict[str, object]:
    return {
        "machine": report.machine,
        "mode": report.mode,
        "part": part,
        "num_events": num_events,
        "low_j": low_j,
        "typical_j": typical_j,
        "high_j": high_j,
    }


def _figure(width: float, comparison: Comparison, known: Known) -> Figure:
    figure = sheet(width, 1.5 + BAR_INCHES * max(2, len(known)), title(comparison))
    axes = figure.subplots()
    if not known:
        axes.text(0.5, 0.5, UNKNOWN, ha="center", va="center")
        axes.axis("off")
        return figure
    step, unit = joule_unit(max(energy.high_j for _, energy in known))
    heights = _heights([report.family for report, _ in known])
    room = NUMBERS_ROOM[width == TWO_COLUMNS]
    whole = room * max(energy.high_j for _, energy in known) / step
    drawn = _bars(axes, known, heights, step, whole, LEAST_NAMED[width == TWO_COLUMNS])
    for height, (_, energy) in zip(heights, known, strict=True):
        _whisker(axes, energy, height, step)
    axes.set_yticks(heights, [f"{report.machine} {report.mode}" for report, _ in known])
    axes.set_ylim(heights[-1] + 0.7, -0.7)
    axes.set_xlim(0, whole)
    word = run_word(comparison.graph)
    axes.set_xlabel(f"{unit} in one {word}, over all members: typical, with the range that sources leave open")
    if width != TWO_COLUMNS:
        axes.set_xlabel(f"{unit} in one {word}: typical and range")
    legend_below(figure, drawn)
    return figure


def _heights(families: Sequence[str]) -> list[float]:
    """Where bars stand, with a gap between families."""
    heights, at = [], 0.0
    for number, family in enumerate(families):
        at += 0.6 if number and family != families[number - 1] else 0.0
        heights.append(at)
        at += 1.0
    return heights


def _bars(
    axes: Axes, known: Known, heights: Sequence[float], step: float, whole: float, named: float
) -> Mapping[str, object]:
    """Every part that is seen, from the left, with its percentage where it has room; what the legend shows of each."""
    left, drawn = [0.0] * len(known), {}
    for part, (name, color, hatch) in STYLES.items():
        lengths = [sum(each.typical_j for each in energy.parts if each.name == part) / step for _, energy in known]
        if max(lengths) < LEAST_SEEN * whole:
            continue
        drawn[name] = axes.barh(
            heights, lengths, left=left, height=BAR, color=color, hatch=hatch, edgecolor="white", linewidth=0.4
        )
        for height, start, length, (_, energy) in zip(heights, left, lengths, known, strict=True):
            if length > named * whole and not hatch:
                percent, middle = 100 * length * step / energy.typical_j, start + length / 2
                axes.text(middle, height, f"{percent:.0f}%", ha="center", va="center", fontsize=6, color=text_on(color))
        left = [start + length for start, length in zip(left, lengths, strict=True)]
    return drawn


def _whisker(axes: Axes, energy: Energy, height: float, step: float) -> None:
    """Under the bar from the low to the high end, with a point at the typical energy; the numbers are beside it."""
    low, typical, high = (value / step for value in (energy.low_j, energy.typical_j, energy.high_j))
    ends = [[typical - low], [high - typical]]
    how: Mapping[str, Any] = {"color": "black", "linewidth": 0.7, "capsize": 1.6, "capthick": 0.7, "markersize": 2}
    axes.errorbar(typical, height + WHISKER, xerr=ends, fmt="o", **how)
    text = f"{joules_text(energy.typical_j)} ({range_text(energy.low_j, energy.high_j)})"
    beside(axes, text, (high, height + WHISKER / 2), fontsize=6.5)
