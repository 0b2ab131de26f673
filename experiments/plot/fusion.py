"""Calls and off-chip bytes by fusion policy and mode, GPU and RDU side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.picture import Picture
from experiments.text.comparison import run_word, title
from experiments.text.quantity import bytes_text
from patterns.count import compulsory

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from experiments.compare import Comparison, Outcome

OF = "comparison"
OFF_CHIP = ("hbm", "ddr")
COLORS = {"gpu": "#3f90da", "rdu": "#ffa90e"}
HATCHES = {"gpu": "", "rdu": "////"}
MACHINE_GAP = 0.7
LOG_RANGE = 10


@dataclass(frozen=True)
class Bar:
    """One machine in one mode. avoidable_bytes: off-chip bytes above those that the graph itself must move."""

    family: str
    machine: str
    mode: str
    calls: int
    off_chip_bytes: int
    avoidable_bytes: int


def draw(comparison: Comparison) -> Picture:
    """Three panels with one bar a machine and mode: calls, off-chip bytes, and those that fusion could avoid."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter

    bars = [bar_of(outcome) for outcome in comparison.outcomes]
    figure = Figure(figsize=(7.0, 1.3 + 0.28 * len(bars)), layout="constrained")
    figure.suptitle(title(comparison), fontsize=8, x=0.005, ha="left")
    left, middle, right = figure.subplots(1, 3, sharey=True)
    word = run_word(comparison.graph)
    panel(left, bars, [bar.calls for bar in bars], "{:,}".format)
    left.set(title="Calls", xlabel=f"calls in one {word}{scale_note(left)}")
    panel(middle, bars, [bar.off_chip_bytes for bar in bars], bytes_text)
    middle.set(title="Off-chip bytes", xlabel=f"HBM and DDR bytes in one {word}{scale_note(middle)}")
    panel(right, bars, [bar.avoidable_bytes for bar in bars], bytes_text)
    right.set(title="Of these, beyond the minimum", xlabel=f"above the graph's own bytes{scale_note(right)}")
    for axes in (middle, right):
        axes.xaxis.set_major_formatter(EngFormatter(unit="B", sep=" "))
    name_bars(left, bars)
    return Picture(figure, tuple(vars(bar) for bar in bars))


def bar_of(outcome: Outcome) -> Bar:
    """What the picture shows of one outcome."""
    report, plan = outcome.report, outcome.execution.plan
    by_level = dict(report.bytes)
    off_chip_bytes = sum(by_level.get(level, 0) for level in OFF_CHIP)
    needed = compulsory(plan.graph)
    needed_bytes = needed.weight_bytes + needed.state_bytes + needed.input_bytes + needed.output_bytes
    avoidable_bytes = max(0, off_chip_bytes - needed_bytes * plan.members)
    return Bar(report.family, report.machine, report.mode, report.calls, off_chip_bytes, avoidable_bytes)


def positions(bars: Sequence[Bar]) -> list[float]:
    """Where the bars stand, from the top down, with a gap between the machines."""
    changes = [i > 0 and bars[i].family != bars[i - 1].family for i in range(len(bars))]
    return [i + MACHINE_GAP * sum(changes[: i + 1]) for i in range(len(bars))]


def panel(axes: Axes, bars: Sequence[Bar], values: Sequence[int], text: Callable[[int], str]) -> None:
    """Horizontal bars, each with its value beside it, and room for the longest of these.

    The scale is logarithmic where the largest is more than LOG_RANGE times the smallest that is not 0.
    """
    from matplotlib.ticker import NullFormatter

    high, low = max(values), min((value for value in values if value > 0), default=1) / 3
    if high > LOG_RANGE * low * 3:
        axes.set_xscale("log")
        axes.set_xlim(low, low * (high / low) ** 1.4)
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        low = 0
        axes.set_xlim(0, max(high, 1) * 1.45)
        axes.locator_params(axis="x", nbins=4, integer=True)
    axes.barh(
        positions(bars),
        values,
        color=[COLORS[bar.family] for bar in bars],
        hatch=[HATCHES[bar.family] for bar in bars],
        edgecolor="white",
        height=0.72,
    )
    for value, where in zip(values, positions(bars), strict=True):
        label = text(value) if value else "none"
        axes.annotate(
            label, (max(value, low), where), xytext=(3, 0), textcoords="offset points", va="center", fontsize=7
        )


def scale_note(axes: Axes) -> str:
    """What an axis label adds where the scale is not linear, in a line of its own: labels stand side by side."""
    return "\n(log scale)" if axes.get_xscale() == "log" else ""


def name_bars(axes: Axes, bars: Sequence[Bar]) -> None:
    """Modes as tick labels, and each machine's name above its bars."""
    where = positions(bars)
    axes.set_yticks(where, [bar.mode for bar in bars])
    axes.set_ylim(where[-1] + 0.6, -1.2)
    for i, bar in enumerate(bars):
        if i == 0 or bar.family != bars[i - 1].family:
            axes.annotate(
                f"{bar.machine} ({bar.family.upper()})",
                (0, where[i] - 0.75),
                xycoords=("axes fraction", "data"),
                fontsize=7,
                fontweight="bold",
                ha="left",
                va="center",
                xytext=(3, 0),
                textcoords="offset points",
            )
