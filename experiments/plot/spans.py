"""Spans: simulated Programs as lanes over time, one above the other on a common axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from experiments.charting.blocks import Block, blocks_of, put_together
from experiments.charting.columns import Record, shown
from experiments.charting.lanes import draw_blocks, lanes_in_order, style_entries
from experiments.charting.scales import make_linear
from experiments.charting.sheet import ONE_COLUMN, both_widths, legend_below, name_panel, sheet
from experiments.picture import Picture
from experiments.text.quantity import time_unit
from patterns.units import PS_PER_S

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from patterns.pipeline.program import Program
    from patterns.pipeline.timeline import Timeline

OF = "runs"
LANE_INCHES = 0.17
MARGIN_INCHES = 0.3

# A title, what was run, how it went, and the clock (None: cycles that belong to no clock).
Run = tuple[str, "Program", "Timeline", int | None]


@dataclass(frozen=True)
class Drawn:
    """A run as it is drawn: its blocks, and what a cycle of it is on the axis."""

    label: str
    blocks: tuple[Block, ...]
    factor: float
    total_cycles: int
    put_together: bool

    @property
    def end(self) -> float:
        """Where it ends on the axis."""
        return self.total_cycles * self.factor


@dataclass(frozen=True)
class Spans:
    """Each of `runs()` as lanes over time. The axis is common: cycles if no run has a clock, else a unit of time.

    Periods that repeat very often, and spans far too many to see, are one block, and the title says so. until: where
    the axis ends, in cycles of the first run (0: with the longest run). Charts of records draw what they are given;
    this one draws its runs.
    """

    name: str
    runs: Callable[[], Sequence[Run]]
    title: str = ""
    until: int = 0

    def draw(self, records: Sequence[Record] = ()) -> Picture:
        """The lanes, and every block as a row."""
        return draw_runs(self.runs(), self.title, self.until)


def draw_runs(runs: Sequence[Run], title: str = "", until: int = 0) -> Picture:
    """The runs one above the other."""
    seconds = [timeline.total_cycles / clock_hz for _, _, timeline, clock_hz in runs if clock_hz]
    step_ps, unit = time_unit(int(max(seconds) * PS_PER_S)) if seconds else (PS_PER_S, "cycles")
    step = step_ps / PS_PER_S
    drawn = [_drawn(run, step, until) for run in runs]
    end = until * drawn[0].factor if until and drawn else max((one.end for one in drawn), default=1.0)
    rows = [row for one in drawn for row in _rows(one, unit)]
    return both_widths(lambda width: _figure(width, drawn, title, end, unit), rows)


def _drawn(run: Run, step: float, until: int) -> Drawn:
    label, program, timeline, clock_hz = run
    factor = 1 / clock_hz / step if clock_hz else 1.0
    blocks = blocks_of(program, timeline)
    if until:
        blocks = tuple(replace(block, end=min(block.end, until)) for block in blocks if block.start < until)
    fewer = put_together(blocks, until or timeline.total_cycles)
    return Drawn(label, fewer, factor, timeline.total_cycles, any(block.count > 1 for block in fewer))


def _figure(width: float, drawn: Sequence[Drawn], title: str, end: float, unit: str) -> Figure:
    lanes = [lanes_in_order(one.blocks) for one in drawn]
    heights = [MARGIN_INCHES + LANE_INCHES * max(1, len(names)) for names in lanes]
    figure = sheet(width, 0.45 + sum(heights), title)
    grid = figure.subplots(len(drawn), 1, squeeze=False, sharex=True, height_ratios=heights)[:, 0]
    for axes, one, names in zip(grid, drawn, lanes, strict=True):
        axes.set_xlim(0, end or 1)
        make_linear(axes.xaxis)
        draw_blocks(axes, one.blocks, names, one.factor, width * (0.7 if width == ONE_COLUMN else 0.8))
        note = " (aggregated: a block 'x n' is n uses)" if one.put_together else ""
        name_panel(axes, shown(one.label) + note, width)
        axes.axvline(one.end, color="black", linewidth=0.6, linestyle=":")
    grid[-1].set_xlabel("cycles" if unit == "cycles" else f"time, {unit}")
    legend_below(figure, style_entries(block for one in drawn for block in one.blocks))
    return figure


def _rows(one: Drawn, unit: str) -> list[dict[str, object]]:
    """The blocks as data, as they are on the axis."""
    return [
        {
            "run": one.label,
            "lane": block.lane,
            "label": block.label,
            "unit_class": block.what,
            "count": block.count,
            "start_cycle": block.start,
            "end_cycle": block.end,
            "busy_cycles": block.busy,
            f"start_{unit}": block.start * one.factor,
            f"end_{unit}": block.end * one.factor,
        }
        for block in one.blocks
    ]
