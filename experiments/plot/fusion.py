"""What runs in one call, and what that saves: patterns by call, calls and off-chip bytes, GPU and RDU side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experiments.charting.groups import STYLES, Groups, draw_groups, group_title, groups_of, names_inches
from experiments.charting.pair import run_name
from experiments.charting.palette import AMBER, BLUE
from experiments.charting.scales import log_ticks, make_linear, name_log_ticks
from experiments.charting.sheet import ONE_COLUMN, beside, both_widths, legend_below, name_panel, sheet
from experiments.picture import Picture
from experiments.text.comparison import run_word, title
from experiments.text.quantity import bytes_text
from patterns.count import compulsory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments.compare import Comparison, Outcome

OF = "comparison"
OFF_CHIP = ("hbm", "ddr")
COLORS = {"gpu": BLUE, "rdu": AMBER}
HATCHES = {"gpu": "", "rdu": "////"}
MACHINE_GAP = 0.7
LOG_RANGE = 10
ROW_INCHES = 0.17
PANELS = ("calls", "off_chip_bytes", "avoidable_bytes")
TITLES = ("Calls", "Off-chip bytes", "Of these, beyond the minimum")


@dataclass(frozen=True)
class Bar:
    """One machine in one mode. avoidable_bytes: off-chip bytes above those that the graph itself must move."""

    family: str
    machine: str
    mode: str
    name: str
    calls: int
    off_chip_bytes: int
    avoidable_bytes: int


def draw(comparison: Comparison) -> Picture:
    """Patterns by call, a row a machine and mode; below bars: calls, off-chip bytes, and those fusion could avoid."""
    bars = [bar_of(outcome) for outcome in comparison.outcomes]
    groups = groups_of(comparison, [bar.name for bar in bars])
    rows = [*(run_row(bar) for bar in bars), *(group_rows(groups) if groups else ())]
    return both_widths(lambda width: _figure(width, comparison, bars, groups), rows)


def bar_of(outcome: Outcome) -> Bar:
    """What the picture shows of one outcome."""
    report, plan = outcome.report, outcome.execution.plan
    by_level = dict(report.bytes)
    off_chip_bytes = sum(by_level.get(level, 0) for level in OFF_CHIP)
    avoidable_bytes = max(0, off_chip_bytes - compulsory(plan.graph).total_bytes * plan.members)
    name = run_name(report)
    return Bar(report.family, report.machine, report.mode, name, report.calls, off_chip_bytes, avoidable_bytes)


def run_row(bar: Bar) -> dict[str, object]:
    """A row of the picture's data: a machine in a mode."""
    return row("run", bar.name, bar.calls, bar.off_chip_bytes, bar.avoidable_bytes)


def group_rows(groups: Groups) -> list[dict[str, object]]:
    """Rows of the picture's data: a pattern and the call it is in."""
    return [
        row(
            "pattern",
            one.run,
            block=groups.block,
            pattern=groups.nodes[place],
            call=call.call,
            iterations=call.iterations,
        )
        for one in groups.rows
        for call in one.calls
        for place in call.places
    ]


def row(
    what: str,
    run: str,
    calls: int | str = "",
    off_chip_bytes: int | str = "",
    avoidable_bytes: int | str = "",
    block: str = "",
    pattern: str = "",
    call: str = "",
    iterations: int | str = "",
) -> dict[str, object]:
    """One row of the picture's data: a run, or a pattern in a call of a run."""
    return {
        "what": what,
        "run": run,
        "calls": calls,
        "off_chip_bytes": off_chip_bytes,
        "avoidable_bytes": avoidable_bytes,
        "block": block,
        "pattern": pattern,
        "call": call,
        "iterations": iterations,
    }


def _figure(width: float, comparison: Comparison, bars: Sequence[Bar], groups: Groups | None) -> Figure:
    wide = width != ONE_COLUMN
    high = 0.1 + ROW_INCHES * (positions(bars)[-1] + 1.8)
    room = width * (0.75 if wide else 0.55)
    strip = high + names_inches(groups, room) if groups else 0.0
    figure = sheet(width, strip + (high + 0.6) * (1 if wide else 3), title(comparison))
    below = [list(PANELS)] if wide else [[name] for name in PANELS]
    layout: list[Any] = [["groups"] * len(below[0]), *below] if groups else below
    ratios = [*([strip] if groups else []), *([high + 0.3] * (1 if wide else 3))]
    axes = figure.subplot_mosaic(layout, height_ratios=ratios)
    if groups:
        draw_groups(axes["groups"], groups, room, positions(bars))
        name_panel(axes["groups"], group_title(groups), width)
        name_bars(axes["groups"], bars, machines=False)
    _bar_panels(axes, bars, run_word(comparison.graph), wide)
    legend_below(figure, _legend(groups), "a box is a call, in the colour of the first of these that it has")
    return figure


def _bar_panels(axes: dict[str, Axes], bars: Sequence[Bar], word: str, wide: bool) -> None:
    """Calls and bytes; modes have their names left of the first of panels that stand side by side."""
    texts: tuple[Callable[[int], str], ...] = ("{:,}".format, bytes_text, bytes_text)
    labels = (
        f"calls in one {word}",
        f"HBM and DDR bytes\nin one {word}" if wide else f"HBM and DDR bytes in one {word}",
        "bytes above the graph's own",
    )
    for name, heading, text, label in zip(PANELS, TITLES, texts, labels, strict=True):
        panel(axes[name], bars, [getattr(bar, name) for bar in bars], text)
        if wide:
            axes[name].set_title(heading)
        else:
            name_panel(axes[name], heading, ONE_COLUMN)
        axes[name].set_xlabel(f"{label}{scale_note(axes[name])}")
        if name == PANELS[0] or not wide:
            name_bars(axes[name], bars)
        else:
            name_bars(axes[name], bars, machines=False)
            axes[name].set_yticklabels([])


def positions(bars: Sequence[Bar]) -> list[float]:
    """Where the bars stand, from the top down, with a gap between the machines."""
    changes = [i > 0 and bars[i].family != bars[i - 1].family for i in range(len(bars))]
    return [i + MACHINE_GAP * sum(changes[: i + 1]) for i in range(len(bars))]


def panel(axes: Axes, bars: Sequence[Bar], values: Sequence[int], text: Callable[[int], str]) -> None:
    """Horizontal bars, each with its value beside it, and room for the longest of these.

    The scale is logarithmic where the largest is more than LOG_RANGE times the smallest that is not 0.
    """
    high, low = max(values), min((value for value in values if value > 0), default=1) / 3
    if high > LOG_RANGE * low * 3:
        axes.set_xscale("log")
        axes.set_xlim(low, low * (high / low) ** 1.4)
        name_log_ticks(axes.xaxis, log_ticks(low, high * 1.01, most=4))
    else:
        low = 0
        axes.set_xlim(0, max(high, 1) * 1.45)
        make_linear(axes.xaxis, 4, whole=True)
    where = positions(bars)
    axes.barh(
        where,
        values,
        color=[COLORS[bar.family] for bar in bars],
        hatch=[HATCHES[bar.family] for bar in bars],
        edgecolor="white",
        height=0.78,
    )
    for value, height in zip(values, where, strict=True):
        beside(axes, text(value) if value else "none", (max(value, low), height), fontsize=6.5)


def scale_note(axes: Axes) -> str:
    """What an axis label adds where the scale is not linear, in a line of its own: labels stand side by side."""
    return "\n(log scale)" if axes.get_xscale() == "log" else ""


def name_bars(axes: Axes, bars: Sequence[Bar], *, machines: bool = True) -> None:
    """Modes as tick labels, and above the bars of each machine its name."""
    where = positions(bars)
    axes.set_yticks(where, [bar.mode if machines else bar.name for bar in bars])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(where[-1] + 0.6, -1.2 if machines else -0.6)
    for i, bar in enumerate(bars):
        if machines and (i == 0 or bar.family != bars[i - 1].family):
            axes.annotate(
                f"{bar.machine} ({bar.family.upper()})",
                (0, where[i] - 0.75),
                xycoords=("axes fraction", "data"),
                fontsize=6.5,
                fontweight="bold",
                ha="left",
                va="center",
                xytext=(3, 0),
                textcoords="offset points",
            )


def _legend(groups: Groups | None) -> dict[str, Any]:
    """The most that is done in a call."""
    from matplotlib.patches import Patch

    used = {call.trait for run_calls in groups.rows for call in run_calls.calls} if groups else set()
    return {
        name: Patch(facecolor=color, hatch=hatch, edgecolor="white")
        for trait, (name, color, hatch) in STYLES.items()
        if trait in used
    }
