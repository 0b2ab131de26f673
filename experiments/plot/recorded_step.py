"""A recorded step as lanes over time, one a class of kernels, above what the model says of it on the same axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.charting.blocks import Block, put_together
from experiments.charting.columns import Record, distinct, of_value, shown
from experiments.charting.lanes import draw_blocks, lanes_in_order
from experiments.charting.scales import make_linear
from experiments.charting.sheet import ONE_COLUMN, both_widths, name_panel, sheet
from experiments.picture import Picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OF = "recording"
LANE_INCHES = 0.17
MARGIN_INCHES = 0.3


@dataclass(frozen=True)
class RecordedStep:
    """Rows are spans: run (a panel each), lane, label, drawn (in the style of which unit class), start_ns, end_ns.

    The axis is common and in `unit`, of which one is `unit_ns` long.
    """

    name: str
    title: str
    unit: str
    unit_ns: int

    def draw(self, records: Sequence[Record]) -> Picture:
        """The lanes, and every span as a row."""
        return both_widths(lambda width: self._figure(width, records), records)

    def _figure(self, width: float, records: Sequence[Record]) -> Figure:
        runs = distinct(records, "run")
        end = max(row["end_ns"] for row in records)
        blocks = [put_together(blocks_in(of_value(records, "run", run)), end) for run in runs]
        lanes = [lanes_in_order(of) for of in blocks]
        heights = [MARGIN_INCHES + LANE_INCHES * len(names) for names in lanes]
        figure = sheet(width, 0.45 + sum(heights), self.title)
        grid = figure.subplots(len(runs), 1, squeeze=False, sharex=True, height_ratios=heights)[:, 0]
        for axes, run, of, names in zip(grid, runs, blocks, lanes, strict=True):
            axes.set_xlim(0, max(end, 1) / self.unit_ns)
            make_linear(axes.xaxis)
            draw_blocks(axes, of, names, 1 / self.unit_ns, width * (0.7 if width == ONE_COLUMN else 0.8))
            aggregated = any(block.count > 1 for block in of)
            note = " (aggregated: kernels near each other are one block)" if aggregated else ""
            name_panel(axes, shown(run) + note, width)
            last = max(block.end for block in of)
            axes.axvline(last / self.unit_ns, color="black", linewidth=0.6, linestyle=":")
        grid[-1].set_xlabel(f"time, {self.unit}")
        return figure


def blocks_in(rows: Sequence[Record]) -> list[Block]:
    """Spans as blocks."""
    return [
        Block(
            lane=row["lane"],
            label=row["label"],
            what=row["drawn"],
            start=row["start_ns"],
            end=row["end_ns"],
            busy=row["end_ns"] - row["start_ns"],
        )
        for row in rows
    ]
