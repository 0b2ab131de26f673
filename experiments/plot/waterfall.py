"""Why each machine takes as long as it does: a bridge from the speed of light to the predicted time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from experiments.charting.columns import Record
from experiments.charting.pair import pair, run_title
from experiments.charting.palette import AMBER, ASH, BLUE, CYAN, GREY, PURPLE, SAND
from experiments.charting.scales import make_linear
from experiments.charting.sheet import ONE_COLUMN, beside, both_widths, sheet, wrapped
from experiments.picture import Picture
from experiments.text.comparison import RESOURCE_TITLES, run_word, title
from experiments.text.quantity import time_text, time_unit
from patterns.report import PICOSECONDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments.compare import Comparison
    from patterns.report import Report

OF = "comparison"
PREDICTED = "predicted"
ROW_INCHES = 0.19
# Colour and hatch of a step: what the graph needs, what the calls do beyond it, waits inside calls, and between them.
STYLES: Mapping[str, tuple[str, str]] = {
    "speed_of_light": ("#333333", ""),
    "extra_work": (BLUE, ""),
    "separate_calls": (BLUE, "////"),
    "below_peak": (CYAN, "...."),
    "imbalance": (CYAN, "xxxx"),
    "issue": (PURPLE, "----"),
    "synchronisation": (SAND, "||||"),
    "launch": (GREY, "++++"),
    PREDICTED: (ASH, ""),
}
INSIDE_CALLS = (AMBER, "\\\\\\\\")


def draw(comparison: Comparison) -> Picture:
    """A bridge of each machine on one axis. Its steps are those of the report's waterfall, and add up to its time."""
    outcomes = pair(comparison)
    rows = [row for outcome in outcomes for row in bridge(outcome.report)]
    heading = f"{title(comparison)}\nfrom the speed of light to the predicted time of one {run_word(comparison.graph)}"
    titles = [run_title(outcome.report) for outcome in outcomes]
    return both_widths(lambda width: _figure(width, heading, titles, rows), rows)


def bridge(report: Report) -> Iterator[dict[str, object]]:
    """Every step: from where to where it leads. The last is the whole predicted time."""
    ends = accumulate((amount for _, amount in report.waterfall_ps), initial=0)
    steps = [(step, start, start + amount) for (step, amount), start in zip(report.waterfall_ps, ends, strict=False)]
    for step, start_ps, end_ps in [*steps, (PREDICTED, 0, report.time_ps)]:
        yield {
            "machine": report.machine,
            "mode": report.mode,
            "step": step,
            "start_s": start_ps / PICOSECONDS,
            "end_s": end_ps / PICOSECONDS,
            "time_s": (end_ps - start_ps) / PICOSECONDS,
            "time_ps": end_ps - start_ps,
            "bound": report.bound if step == "speed_of_light" else "",
        }


def _figure(width: float, heading: str, titles: Sequence[str], rows: Sequence[Record]) -> Figure:
    shown = [step for step in dict.fromkeys(row["step"] for row in rows) if _used(rows, step)]
    side_by_side = width != ONE_COLUMN
    high = 0.45 + ROW_INCHES * len(shown)
    figure = sheet(width, 0.3 + high * (1 if side_by_side else len(titles)), heading)
    shape = (1, len(titles)) if side_by_side else (len(titles), 1)
    panels = figure.subplots(*shape, squeeze=False, sharex=True, sharey=side_by_side).flatten()
    runs = list(dict.fromkeys((row["machine"], row["mode"]) for row in rows))
    end_ps = max(int(row["time_ps"]) for row in rows)
    step, unit = time_unit(end_ps)
    factor = PICOSECONDS / step
    for axes, name, run in zip(panels, titles, runs, strict=True):
        _panel(axes, [row for row in rows if (row["machine"], row["mode"]) == run], shown, factor)
        axes.set_title(wrapped(name, int(width * (7 if side_by_side else 12))))
        axes.set_xlim(0, end_ps / step * (1.27 if side_by_side else 1.3))
        make_linear(axes.xaxis, 4)
        if side_by_side or axes is panels[-1]:
            axes.set_xlabel(f"time, {unit}")
    return figure


def _used(rows: Sequence[Record], step: str) -> bool:
    """Whether a step is drawn: it takes time on a machine. The first and the last always are."""
    return step in ("speed_of_light", PREDICTED) or any(row["time_ps"] for row in rows if row["step"] == step)


def _panel(axes: Axes, rows: Sequence[Record], shown: Sequence[str], factor: float) -> None:
    """Floating bars from the top down, each beginning where the one before ends, with its time beside it."""
    own = [row for row in rows if row["step"] in shown]
    for height, row in enumerate(own):
        color, hatch = STYLES.get(row["step"], INSIDE_CALLS)
        start, length = row["start_s"] * factor, row["time_s"] * factor
        axes.barh(height, length, left=start, height=0.74, color=color, hatch=hatch, edgecolor="white", linewidth=0.4)
        end = row["end_s"] * factor
        if height + 1 < len(own):
            axes.plot([end, end], [height - 0.37, height + 1.37], color="#333333", linewidth=0.5)
        label = time_text(row["time_ps"]) if row["time_ps"] else "0"
        beside(
            axes, f"{label}, {RESOURCE_TITLES[row['bound']]}" if row["bound"] else label, (end, height), fontsize=6.5
        )
    axes.set_yticks(range(len(own)), [row["step"].replace("_", " ") for row in own])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(own) - 0.4, -0.6)
    axes.grid(axis="x")
