"""Which calls the time goes into: how often each is launched, what all its launches take, and the least they could."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.charting.columns import Record, shown
from experiments.charting.pair import pair, run_name, run_title
from experiments.charting.palette import AMBER, ASH, BLUE, BROWN, CYAN, ORANGE, PURPLE, RED
from experiments.charting.scales import make_linear
from experiments.charting.sheet import ONE_COLUMN, beside, both_widths, legend_below, name_panel, sheet
from experiments.picture import Picture
from experiments.text.comparison import RESOURCE_TITLES, run_word, title
from experiments.text.quantity import time_text, time_unit
from patterns.summarize import picoseconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments.compare import Comparison, Outcome

OF = "comparison"
MOST_CALLS = 12
ROW_INCHES = 0.19
OTHERS = "others"
# Colour and hatch of what takes longest of a call's work at the datasheet's rates.
STYLES = {
    "matrix_flops": (RED, "////"),
    "vector_ops": (AMBER, "\\\\\\\\"),
    "special_ops": (ORANGE, "...."),
    "hbm_bytes": (BLUE, ""),
    "l2_bytes": (PURPLE, "----"),
    "ddr_bytes": (BROWN, "||||"),
    "network_bytes": (CYAN, "xxxx"),
    "": (ASH, ""),
}


def draw(comparison: Comparison) -> Picture:
    """The calls of each machine in which most time goes, the others together, on one axis."""
    outcomes = pair(comparison)
    rows = [row for outcome in outcomes for row in call_rows(outcome)]
    heading = f"{title(comparison)}\ntime of all launches of a call in one {run_word(comparison.graph)}"
    titles = [run_title(outcome.report) for outcome in outcomes]
    return both_widths(lambda width: _figure(width, heading, titles, rows), rows)


def call_rows(outcome: Outcome) -> list[dict[str, object]]:
    """Calls from the one with the most time to that with the least; beyond MOST_CALLS together, as one of them."""
    peak = outcome.execution.plan.rates.peak_by_resource
    rows = []
    for call in outcome.execution.plan.calls:
        least = picoseconds(call.work, peak)
        limit = max(least, key=lambda resource: least[resource], default="")
        duration_ps = outcome.execution.call_named[call.name].duration_ps
        rows.append(
            _row(outcome, call.name, call.count, duration_ps * call.count, int(least.get(limit, 0) * call.count), limit)
        )
    rows.sort(key=lambda row: -int(str(row["time_ps"])))
    if len(rows) <= MOST_CALLS:
        return rows
    kept, rest = rows[: MOST_CALLS - 1], rows[MOST_CALLS - 1 :]
    launches, time_ps, bound_ps = (
        sum(int(str(row[key])) for row in rest) for key in ("launches", "time_ps", "bound_ps")
    )
    return [*kept, _row(outcome, f"{len(rest)} {OTHERS}", launches, time_ps, bound_ps, "")]


def _row(outcome: Outcome, call: str, launches: int, time_ps: int, bound_ps: int, limit: str) -> dict[str, object]:
    return {
        "run": run_name(outcome.report),
        "call": call,
        "launches": launches,
        "time_ps": time_ps,
        "bound_ps": bound_ps,
        "limit": limit,
    }


def _figure(width: float, heading: str, titles: Sequence[str], rows: Sequence[Record]) -> Figure:
    parts = [[row for row in rows if row["run"] == run] for run in dict.fromkeys(row["run"] for row in rows)]
    heights = [0.35 + ROW_INCHES * len(part) for part in parts]
    figure = sheet(width, 0.4 + sum(heights), heading)
    panels = figure.subplots(len(parts), 1, squeeze=False, sharex=True, height_ratios=heights)[:, 0]
    end_ps = max(row["time_ps"] for row in rows)
    step, unit = time_unit(end_ps)
    for axes, name, part in zip(panels, titles, parts, strict=True):
        _panel(axes, part, step, 22 if width == ONE_COLUMN else 44)
        name_panel(axes, name, width)
    panels[-1].set_xlim(0, end_ps / step * (1.3 if width == ONE_COLUMN else 1.2))
    make_linear(panels[-1].xaxis)
    panels[-1].set_xlabel(f"time, {unit}")
    legend_below(figure, _legend(rows))
    return figure


def _panel(axes: Axes, rows: Sequence[Record], step: int, letters: int) -> None:
    """A bar a call with its time, and a line across it at the least time that its work allows."""
    for height, row in enumerate(rows):
        color, hatch = STYLES[row["limit"]]
        axes.barh(
            height, row["time_ps"] / step, height=0.74, color=color, hatch=hatch, edgecolor="white", linewidth=0.4
        )
        bound = row["bound_ps"] / step
        axes.plot([bound, bound], [height - 0.37, height + 0.37], color="black", linewidth=1.4, zorder=4)
        beside(axes, time_text(row["time_ps"]), (row["time_ps"] / step, height), fontsize=6.5)
    names = [f"{shown(row['call'], letters)} ({row['launches']:,}x)" for row in rows]
    axes.set_yticks(range(len(rows)), names)
    axes.tick_params(axis="y", length=0, labelsize=6.5)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(axis="x")


def _legend(rows: Sequence[Record]) -> dict[str, object]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    used = [limit for limit in STYLES if any(row["limit"] == limit for row in rows)]
    entries: dict[str, object] = {
        f"most work: {RESOURCE_TITLES[limit]}" if limit else OTHERS: Patch(
            facecolor=STYLES[limit][0], hatch=STYLES[limit][1], edgecolor="white"
        )
        for limit in used
    }
    return entries | {"least at datasheet rates": Line2D([], [], color="black", linestyle="", marker="|", markersize=8)}
