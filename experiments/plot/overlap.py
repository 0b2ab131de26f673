"""What runs at the same time: a call of each machine on one time axis, and the overlap account of every mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from experiments.charting.columns import shown
from experiments.charting.examples import examples
from experiments.charting.lanes import CLASS_STYLES, PART_STYLES, draw_blocks, style_entries, style_patch
from experiments.charting.pair import run_name
from experiments.charting.scales import make_linear
from experiments.charting.sheet import ONE_COLUMN, both_widths, legend_below, name_panel, sheet
from experiments.charting.window import STRIP, Window, telling_us, window_of
from experiments.picture import Picture
from experiments.text.comparison import run_word, title
from experiments.text.quantity import time_text
from patterns.plural import number_of
from patterns.report import OVERLAP_PARTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments.compare import Comparison
    from patterns.report import Report

OF = "comparison"
LANE_INCHES = 0.155
BAR_INCHES = 0.2
TITLE_INCHES = 0.4
# The axis is long enough for the machine that takes longer to tell, but not so long that the other is a blur.
MOST_TIMES = 4


def draw(comparison: Comparison) -> Picture:
    """A time line of one call of each machine, on one axis, above the overlap account of all modes.

    The lane under each call says what its moments count as in the account: overlapped, or of one class alone.
    """
    found = examples(comparison)
    told = [telling_us(*example) for example in found]
    length_us = min(max(told), MOST_TIMES * min(told))
    windows = [window_of(*example, length_us) for example in found]
    rows = [*(row for window in windows for row in window_rows(window)), *account_rows(comparison.reports)]
    return both_widths(lambda width: _figure(width, comparison, windows, length_us), rows)


def _figure(width: float, comparison: Comparison, windows: Sequence[Window], length_us: float) -> Figure:
    reports = comparison.reports
    heights = [TITLE_INCHES + LANE_INCHES * (len(window.lanes) + 1.5) for window in windows]
    heights.append(TITLE_INCHES + BAR_INCHES * len(reports))
    figure = sheet(width, 0.7 + sum(heights), title(comparison))
    axes = figure.subplots(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    for above, window in zip(axes, windows, strict=False):
        above.set_xlim(0, length_us)
        draw_window(above, window, width)
    for above in axes[: len(windows) - 1]:
        above.tick_params(labelbottom=False)
    axes[len(windows) - 1].set_xlabel("time, us")
    draw_account(axes[-1], reports, width)
    axes[-1].set_xlabel(f"% of the time of one {run_word(comparison.graph)}")
    legend_below(figure, _legend(windows, reports))
    return figure


def draw_window(axes: Axes, window: Window, width: float) -> None:
    """Roles as lanes in the order of the data flow, and below them what the account makes of each moment."""
    blocks = (*window.blocks, *window.strip)
    make_linear(axes.xaxis)
    draw_blocks(axes, blocks, (*window.lanes, STRIP), window.cycle_us, width * (0.65 if width == ONE_COLUMN else 0.8))
    axes.axhline(len(window.lanes) - 0.5, color="#333333", linewidth=0.5)
    name_panel(axes, window_title(window), width)


def window_title(window: Window) -> str:
    """The run, the call, which part of it is shown, and whether lanes are not."""
    part_us, whole_us = (window.end - window.begin) * window.cycle_us, window.total_cycles * window.cycle_us
    from_us = window.begin * window.cycle_us
    shown_part = f"{part_us:.3g} us from {from_us:.4g} us on, of {whole_us:.4g} us"
    part = f"all {whole_us:.4g} us" if part_us == whole_us else shown_part
    left_out = f"; {number_of(window.lanes_left_out, 'less busy lane')} not shown" if window.lanes_left_out else ""
    merged = "; aggregated: 'x n' is n uses" if any(block.count > 1 for block in window.blocks) else ""
    return f"{run_name(window.outcome.report)}: call {shown(window.call.name)}, {part}{left_out}{merged}"


def draw_account(axes: Axes, reports: Sequence[Report], width: float) -> None:
    """One bar a machine and mode: the shares of the parts, in order, with the whole time beside it."""
    left = [0.0] * len(reports)
    for part in OVERLAP_PARTS:
        shares = [100 * dict(report.overlap_ps).get(part, 0) / max(report.time_ps, 1) for report in reports]
        if any(shares):
            color, hatch = PART_STYLES[part]
            axes.barh(range(len(reports)), shares, left=left, height=0.8, color=color, hatch=hatch, edgecolor="white")
            left = [start + share for start, share in zip(left, shares, strict=True)]
    for number, report in enumerate(reports):
        axes.text(101, number, time_text(report.time_ps), va="center", fontsize=7)
    axes.set_yticks(range(len(reports)), [run_name(report) for report in reports])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(reports) - 0.4, -0.6)
    axes.set_xlim(0, 125 if width == ONE_COLUMN else 112)
    axes.set_xticks(range(0, 101, 20))
    name_panel(axes, "Time by what runs: overlapped, one class alone in its colour (exposed), or none", width)


def _legend(windows: Sequence[Window], reports: Sequence[Report]) -> dict[str, Any]:
    """Classes of units, and then what their overlap comes to."""
    used = {part for report in reports for part, time_ps in report.overlap_ps if time_ps}
    strips = {block.what for window in windows for block in window.strip}
    parts = [part for part in PART_STYLES if part in used | strips and not part.startswith("exposed")]
    classes = style_entries((block for window in windows for block in window.blocks), CLASS_STYLES)
    return classes | {part.replace("_", " "): style_patch(part) for part in parts}


def window_rows(window: Window) -> list[dict[str, object]]:
    """The blocks of a time line as data, in cycles of the call."""
    report = window.outcome.report
    return [
        row(
            report.machine,
            report.mode,
            window.call.name,
            block.lane,
            block.label,
            block.what,
            window.begin + block.start,
            window.begin + block.end,
            block.count,
        )
        for block in (*window.blocks, *window.strip)
    ]


def account_rows(reports: Sequence[Report]) -> list[dict[str, object]]:
    """The account as data."""
    return [
        row(report.machine, report.mode, part=part, time_ps=time_ps)
        for report in reports
        for part, time_ps in report.overlap_ps
    ]


def row(
    machine: str,
    mode: str,
    call: str = "",
    lane: str = "",
    label: str = "",
    unit_class: str = "",
    start_cycle: int | str = "",
    end_cycle: int | str = "",
    count: int | str = "",
    part: str = "",
    time_ps: int | str = "",
) -> dict[str, object]:
    """One row of the picture's data: a block of a time line, or a part of an account."""
    return {
        "machine": machine,
        "mode": mode,
        "call": call,
        "lane": lane,
        "label": label,
        "unit_class": unit_class,
        "start_cycle": start_cycle,
        "end_cycle": end_cycle,
        "count": count,
        "part": part,
        "time_ps": time_ps,
    }
