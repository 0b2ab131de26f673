"""One column by two others as a heat map, the number in each cell where it fits, and the line where a ratio turns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log10
from typing import TYPE_CHECKING, Any

from experiments.charting.asked import Asked
from experiments.charting.columns import Record, at_most, axis_label, distinct, drawn_rows, number, of_value, shown
from experiments.charting.palette import text_on
from experiments.charting.scales import log_ticks, make_linear, name_log_ticks
from experiments.charting.sheet import ONE_COLUMN, both_widths, legend_below, sheet, wrapped
from experiments.picture import Picture
from patterns.errors import UserError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, Normalize
    from matplotlib.figure import Figure

OF = "data"
CELL_INCHES = 0.3
MOST_INCHES = 4.0
# A number of four letters fits in a cell this wide.
NUMBER_INCHES = 0.26
# Of a name below a column: longer ones stand upright.
LETTER_INCHES = 0.065
EMPTY_HATCH = "////"
LINE_INCHES = 0.12
# Above this many cells there are no lines between them.
MOST_EDGED = 1_000
MOST_CELLS = 40_000
Cell = tuple[int, int]


@dataclass(frozen=True)
class HeatMap:
    """`value` in cells over `x` and `y`, which have their values at equal distances; a panel a value of `panel`.

    log: colours go by the logarithm. diverging_at: where a value turns (a ratio: 1): the colours part there, and a
    thick line runs between cells on either side of it. Cells without a value are hatched. Raises UnknownName, and
    UserError for values that are no finite numbers and for two values of a cell.
    """

    name: str
    x: str
    y: str
    value: str
    panel: str = ""
    title: str = ""
    log: bool = False
    diverging_at: float | None = None

    def draw(self, records: Sequence[Record]) -> Picture:
        """The cells and their values."""
        rows = drawn_rows(records, (self.panel, self.x, self.y, self.value))
        return both_widths(lambda width: self._figure(width, rows), rows)

    def _figure(self, width: float, rows: Sequence[Record]) -> Figure:
        panels = distinct(rows, self.panel)
        xs, ys = distinct(rows, self.x), distinct(rows, self.y)
        at_most(len(xs) * len(ys) * len(panels), MOST_CELLS, "cells")
        across = 1 if width == ONE_COLUMN else min(len(panels), 2)
        down = -(-len(panels) // across)
        high = min(MOST_INCHES, 0.5 + CELL_INCHES * len(ys))
        figure = sheet(width, 0.3 + (high + 0.3) * down, self.title)
        grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
        colors, norm = self._colors(rows)
        cell_inches = (width / across - 1.4) / len(xs)
        for axes, panel in zip(grid.flat, panels, strict=False):
            cells = self._cells(of_value(rows, self.panel, panel), xs, ys)
            self._panel(axes, cells, (xs, ys), (colors, norm), cell_inches)
            if self.panel:
                axes.set_title(wrapped(shown(panel), int(width / across * 12)))
        for axes in list(grid.flat)[len(panels) :]:
            axes.set_axis_off()
        for axes in grid[-1]:
            axes.set_xlabel(axis_label(self.x))
        for axes in grid[:, 0]:
            axes.set_ylabel(axis_label(self.y))
        self._color_bar(figure, grid, colors, norm)
        legend_below(figure, self._legend(rows, len(xs) * len(ys) * len(panels)))
        return figure

    def _cells(self, rows: Sequence[Record], xs: Sequence[Any], ys: Sequence[Any]) -> dict[Cell, float]:
        """Column and line -> value, where there is one."""
        found: dict[Cell, float] = {}
        for row in rows:
            value, cell = number(row, self.value, self.log), (xs.index(row[self.x]), ys.index(row[self.y]))
            if value is None:
                continue
            if cell in found:
                where = f"{self.x} {shown(row[self.x])}, {self.y} {shown(row[self.y])}"
                raise UserError(f"a heat map has one {self.value} a cell; at {where} there are two: filter the rows")
            found[cell] = value
        return found

    def _panel(
        self,
        axes: Axes,
        cells: Mapping[Cell, float],
        words: tuple[Sequence[Any], Sequence[Any]],
        coloured: tuple[Colormap, Normalize],
        cell_inches: float,
    ) -> None:
        """One panel: coloured cells, their numbers, and the line where the value turns."""
        (xs, ys), coloured_by = words, coloured
        _colour(axes, cells, (len(xs), len(ys)), coloured_by)
        if cell_inches >= NUMBER_INCHES:
            _write(axes, cells, coloured_by)
        for line in self._turning(cells):
            axes.plot(*line, color="black", linewidth=1.8, solid_capstyle="round")
        axes.set(xlim=(-0.5, len(xs) - 0.5), ylim=(-0.5, len(ys) - 0.5))
        every = max(1, -(-len(xs) // max(1, int(cell_inches * len(xs) / 0.38))))
        names = [shown(value) for value in xs[::every]]
        axes.set_xticks(range(0, len(xs), every), names)
        if max(map(len, names)) * LETTER_INCHES > every * cell_inches:
            axes.tick_params(axis="x", rotation=90)
        apart = max(1, -(-len(ys) // int(MOST_INCHES / LINE_INCHES)))
        axes.set_yticks(range(0, len(ys), apart), [shown(value) for value in ys[::apart]])
        axes.tick_params(length=0)
        for side in ("left", "bottom"):
            axes.spines[side].set_visible(False)

    def _turning(self, cells: Mapping[Cell, float]) -> Iterator[tuple[list[float], list[float]]]:
        """Edges between two cells of which one is below where the value turns, and the other is not."""
        if self.diverging_at is None:
            return
        for (x, y), value in cells.items():
            below = value < self.diverging_at
            right, above = cells.get((x + 1, y)), cells.get((x, y + 1))
            if right is not None and (right < self.diverging_at) != below:
                yield [x + 0.5, x + 0.5], [y - 0.5, y + 0.5]
            if above is not None and (above < self.diverging_at) != below:
                yield [x - 0.5, x + 0.5], [y + 0.5, y + 0.5]

    def _colors(self, rows: Sequence[Record]) -> tuple[Colormap, Normalize]:
        """Light to dark by value, or two colours on either side of where it turns."""
        from matplotlib import colormaps
        from matplotlib.colors import LogNorm, Normalize, TwoSlopeNorm

        found = [value for row in rows if (value := number(row, self.value, self.log)) is not None] or [1.0]
        above = [value for value in found if value > 0] or [1.0]
        turn = self.diverging_at
        if turn is not None and self.log:
            far = max(10 ** max(abs(log10(value / turn)) for value in above), 1.01)
            return colormaps["PuOr"], LogNorm(turn / far, turn * far)
        if turn is not None:
            span = max(abs(value - turn) for value in found) or 1.0
            return colormaps["PuOr"], TwoSlopeNorm(turn, turn - span, turn + span)
        if self.log:
            return colormaps["cividis"], LogNorm(min(above), max(max(above), min(above) * 1.01))
        return colormaps["cividis"], Normalize(min(found), max(max(found), min(found) + 1e-9))

    def _color_bar(self, figure: Figure, grid: Any, colors: Colormap, norm: Normalize) -> None:
        """The scale of the colours at the right."""
        from matplotlib.cm import ScalarMappable

        bar = figure.colorbar(ScalarMappable(norm, colors), ax=grid, aspect=25, pad=0.02)
        bar.set_label(axis_label(self.value))
        if self.log and norm.vmin and norm.vmax:
            name_log_ticks(bar.ax.yaxis, log_ticks(norm.vmin, norm.vmax))
        else:
            make_linear(bar.ax.yaxis)
        bar.outline.set_visible(False)

    def _legend(self, rows: Sequence[Record], num_cells: int) -> dict[str, Any]:
        """The line where the value turns, and cells without one."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        entries: dict[str, Any] = {}
        if self.diverging_at is not None:
            entries[f"turns at {self.diverging_at:g}"] = Line2D([], [], color="black", linewidth=1.8)
        if sum(number(row, self.value) is not None for row in rows) < num_cells:
            entries["no value"] = Patch(facecolor="white", hatch=EMPTY_HATCH, edgecolor="#bbbbbb")
        return entries


def _colour(
    axes: Axes, cells: Mapping[Cell, float], size: tuple[int, int], coloured: tuple[Colormap, Normalize]
) -> None:
    """Cells in their colours; the hatched ground shows where there is none."""
    import numpy as np

    (columns, lines), (colors, norm) = size, coloured
    values = np.full((lines, columns), np.nan)
    for (x, y), value in cells.items():
        values[y, x] = max(value, norm.vmin) if norm.vmin is not None else value
    axes.patch.set(facecolor="white", hatch=EMPTY_HATCH, edgecolor="#bbbbbb", linewidth=0.0)
    edges: dict[str, Any] = {"edgecolors": "#bbbbbb", "linewidth": 0.4} if columns * lines <= MOST_EDGED else {}
    corners = [np.arange(count + 1) - 0.5 for count in size]
    axes.pcolormesh(*corners, values, cmap=colors, norm=norm, **edges)


def _write(axes: Axes, cells: Mapping[Cell, float], coloured: tuple[Colormap, Normalize]) -> None:
    """The number of each cell, on its colour."""
    from matplotlib.colors import to_hex

    colors, norm = coloured
    for (x, y), value in cells.items():
        color = to_hex(colors(norm(max(value, norm.vmin) if norm.vmin is not None else value)))
        axes.text(x, y, short(value), ha="center", va="center", fontsize=6, color=text_on(color))


def short(value: float) -> str:
    """A number of at most about four letters: three digits, whole ones as they are."""
    from experiments.charting.scales import plain

    if abs(value) >= 1000:
        return plain(float(f"{value:.2g}"))
    if float(value).is_integer():
        return f"{value:.0f}"
    return f"{value:#.3g}".rstrip(".") if abs(value) >= 0.01 else f"{value:.0e}".replace("e-0", "e-")


def chart(asked: Asked) -> HeatMap:
    """The chart of these options."""
    asked.only(("x", "y", "value"), ("panel", "turns_at"), ("value",))
    return HeatMap(
        asked.name,
        asked.x,
        asked.one_y,
        asked.value,
        panel=asked.panel,
        title=asked.title,
        log=bool(asked.log),
        diverging_at=asked.turns_at,
    )
