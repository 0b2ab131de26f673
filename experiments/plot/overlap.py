"""What runs at the same time: one call on each machine over time, and the overlap account of every mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from experiments.gantt import Gantt, gantt_of, gpu_example, rdu_example
from experiments.picture import Picture
from experiments.text.comparison import run_word, title
from experiments.text.quantity import time_text
from patterns.plural import number_of
from patterns.report import OVERLAP_PARTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from experiments.compare import Comparison
    from patterns.pipeline.program import UnitClass
    from patterns.report import Report

OF = "comparison"
CLASS_COLORS: Mapping[UnitClass, str] = {
    "matrix": "#bd1f01",
    "vector": "#ffa90e",
    "special": "#e76300",
    "memory": "#3f90da",
    "network": "#92dadd",
    "issue": "#832db6",
    "sync": "#b9ac70",
    "launch": "#717581",
}
# Where something runs alone it has its class's colour; hatches keep the parts apart without colours.
PART_STYLES: Mapping[str, tuple[str, str]] = {
    "overlapped": ("#94a4a2", ""),
    "exposed_matrix": (CLASS_COLORS["matrix"], "////"),
    "exposed_vector": (CLASS_COLORS["vector"], "\\\\\\\\"),
    "exposed_memory": (CLASS_COLORS["memory"], ""),
    "exposed_network": (CLASS_COLORS["network"], "xxxx"),
    "in_flight": ("#a96b59", "...."),
    "issue": (CLASS_COLORS["issue"], "----"),
    "synchronisation": (CLASS_COLORS["sync"], "||||"),
    "launch": (CLASS_COLORS["launch"], "++++"),
    "idle": ("#eeeeee", ""),
}
LANE_INCHES = 0.16
BAR_INCHES = 0.24
MARGIN_INCHES = 0.75
# Letters of a legend that fit above a time line; a title's are bold, and each entry has its colour and a space.
LETTERS = 110
BOLD = 1.3
LEGEND_SPACE = 7


def draw(comparison: Comparison) -> Picture:
    """A time line of one call of each machine above the overlap account of all modes."""
    from matplotlib.figure import Figure

    examples = [found for found in (gpu_example(comparison.outcomes), rdu_example(comparison.outcomes)) if found]
    gantts = [gantt_of(*example) for example in examples]
    heights = [MARGIN_INCHES + LANE_INCHES * len(gantt.lanes) for gantt in gantts]
    heights.append(MARGIN_INCHES + 0.3 + BAR_INCHES * len(comparison.reports))
    figure = Figure(figsize=(7.0, 0.3 + sum(heights)), layout="constrained")
    figure.suptitle(title(comparison), fontsize=8, x=0.005, ha="left")
    axes = figure.subplots(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    for below, gantt in zip(axes, gantts, strict=False):
        draw_gantt(below, gantt)
    draw_account(axes[-1], comparison.reports, run_word(comparison.graph))
    figure.legend(
        handles=axes[-1].get_legend_handles_labels()[0], loc="outside lower center", ncols=5, handlelength=1.6
    )
    return Picture(figure, (*gantt_rows(gantts), *account_rows(comparison.reports)))


def draw_gantt(axes: Axes, gantt: Gantt) -> None:
    """Lanes from the top down; time in microseconds of that machine's clock, from the start of the call."""
    where = {lane: number for number, lane in enumerate(gantt.lanes)}
    microseconds = 1e6 / gantt.clock_hz
    classes = [unit_class for unit_class in CLASS_COLORS if any(bar.unit_class == unit_class for bar in gantt.bars)]
    for unit_class in classes:
        color = CLASS_COLORS[unit_class]
        bars = [bar for bar in gantt.bars if bar.unit_class == unit_class]
        wide = [bar.end_cycle - bar.start_cycle > gantt.until_cycle / 200 for bar in bars]
        axes.barh(
            [where[bar.lane] for bar in bars],
            [(bar.end_cycle - bar.start_cycle) * microseconds for bar in bars],
            left=[bar.start_cycle * microseconds for bar in bars],
            height=0.78,
            color=color,
            # A white edge parts neighbours; it would hide a bar that is hardly wider than a line.
            edgecolor=["white" if is_wide else color for is_wide in wide],
            linewidth=0.4,
            label=unit_class,
        )
    axes.set_yticks(range(len(gantt.lanes)), gantt.lanes)
    axes.set_ylim(len(gantt.lanes) - 0.4, -0.6)
    axes.set_xlim(0, gantt.until_cycle * microseconds)
    left_out = f"; {number_of(gantt.lanes_left_out, 'less busy lane')} not shown" if gantt.lanes_left_out else ""
    part = f"first {gantt.until_cycle:,} of" if gantt.until_cycle < gantt.total_cycles else "all"
    cycles = f"{part} {gantt.total_cycles:,} cycles"
    axes.set_xlabel(f"time in the call, us ({cycles}{left_out})")
    axes.set_title(gantt_title(gantt, classes))
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=len(classes), borderaxespad=0.2, handlelength=1)


def gantt_title(gantt: Gantt, classes: Sequence[UnitClass]) -> str:
    """The machine, its mode and the call: in two lines where one would reach the legend at its right."""
    before, call = f"{gantt.machine}, {gantt.mode}:", f"call {gantt.call}"
    in_letters = BOLD * len(f"{before} {call}") + sum(LEGEND_SPACE + len(name) for name in classes)
    return f"{before} {call}" if in_letters <= LETTERS else f"{before}\n{call}"


def draw_account(axes: Axes, reports: Sequence[Report], word: str) -> None:
    """One bar a machine and mode: the shares of the parts, in order, with the whole time beside it."""
    left = [0.0] * len(reports)
    for part in OVERLAP_PARTS:
        shares = [100 * dict(report.overlap_ps).get(part, 0) / max(report.time_ps, 1) for report in reports]
        if any(shares):
            color, hatch = PART_STYLES[part]
            name = part.replace("_", " ")
            axes.barh(range(len(reports)), shares, left=left, color=color, hatch=hatch, edgecolor="white", label=name)
            left = [start + share for start, share in zip(left, shares, strict=True)]
    for number, report in enumerate(reports):
        axes.text(101, number, time_text(report.time_ps), va="center", fontsize=7)
    axes.set_yticks(range(len(reports)), [f"{report.machine} {report.mode}" for report in reports])
    axes.set_ylim(len(reports) - 0.4, -0.6)
    axes.set_xlim(0, 112)
    axes.set_xticks(range(0, 101, 20))
    axes.set_xlabel(f"% of the time of one {word}, which stands at the right")
    axes.set_title("Overlapped, exposed (one class alone) and idle time, all modes")


def gantt_rows(gantts: Sequence[Gantt]) -> list[dict[str, object]]:
    """The bars of the time lines as data."""
    return [
        row(gantt.machine, gantt.mode, gantt.call, bar.lane, bar.label, bar.unit_class, bar.start_cycle, bar.end_cycle)
        for gantt in gantts
        for bar in gantt.bars
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
    part: str = "",
    time_ps: int | str = "",
) -> dict[str, object]:
    """One row of the picture's data: a bar of a time line, or a part of an account."""
    return dict(locals())
