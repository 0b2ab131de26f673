"""One column over another as lines, a line for each value of a third, a panel for each of a fourth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experiments.charting.asked import Asked
from experiments.charting.columns import (
    Record,
    at_most,
    axis_label,
    distinct,
    drawn_rows,
    number,
    numeric,
    of_value,
    quantity,
    shown,
)
from experiments.charting.palette import BOUND_COLOR, BOUND_DASH, MARK_COLOR, Look, dark, look
from experiments.charting.scales import log_floor, scale
from experiments.charting.sheet import ONE_COLUMN, beside, both_widths, legend_below, sheet, wrapped
from experiments.picture import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OF = "data"
PANEL_INCHES = 2.2
MOST_PANELS, MOST_LINES = 24, 40
# Names at the ends of lines: in one panel of the wide figure, if so few, and none is moved further than this share of a
# line of text.
MOST_DIRECT = 8
LINE_OF_TEXT_INCHES = 0.12
MOST_MOVED = 0.7
Point = tuple[float, float]
# A line's name, how it looks, and its last point.
End = tuple[str, Look, Point]


@dataclass(frozen=True)
class Lines:
    """`y` over `x`, a line a value of `by`, a panel a value of `panel`. bound: a column drawn dashed beside each line;
    marks: a column of published values, drawn as crosses. Rows without a value leave a gap. An `x` of words has its
    values at equal distances. Raises UnknownName, and UserError for values that are no finite numbers.
    """

    name: str
    x: str
    y: str
    by: str = ""
    panel: str = ""
    title: str = ""
    x_label: str = ""
    y_label: str = ""
    x_log: bool = False
    y_log: bool = False
    bound: str = ""
    marks: str = ""

    def draw(self, records: Sequence[Record]) -> Picture:
        """The lines and their points."""
        rows = drawn_rows(records, (self.panel, self.by, self.x, self.y, self.bound, self.marks))
        return both_widths(lambda width: self._figure(width, rows), rows)

    def _figure(self, width: float, rows: Sequence[Record]) -> Figure:
        panels = distinct(rows, self.panel)
        at_most(len(panels), MOST_PANELS, "panels")
        at_most(len(distinct(rows, self.by)), MOST_LINES, "lines in a panel")
        across = 1 if width == ONE_COLUMN else 2 if len(panels) == 4 else min(len(panels), 3)
        down = -(-len(panels) // across)
        figure = sheet(width, 0.1 + PANEL_INCHES * down, self.title)
        grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
        places = {name: place for place, name in enumerate(distinct(rows, self.by))}
        direct = bool(self.by) and width != ONE_COLUMN and len(panels) == 1 and 1 < len(places) <= MOST_DIRECT
        for axes, panel in zip(grid.flat, panels, strict=False):
            ends = self._panel(axes, of_value(rows, self.panel, panel), places, rows)
            direct = direct and _name_ends(axes, ends)
            if self.panel:
                axes.set_title(wrapped(shown(panel), int(width / across * 13)))
        for axes in list(grid.flat)[len(panels) :]:
            axes.set_axis_off()
        # Under the lowest panel of each column, also where the last row is not full.
        for axes in grid.flat[max(0, len(panels) - across) : len(panels)]:
            axes.tick_params(labelbottom=True)
            axes.set_xlabel(self.x_label or axis_label(self.x))
        for axes in grid[:, 0]:
            axes.set_ylabel(self.y_label or axis_label(self.y))
        legend_below(
            figure, self._legend({} if direct else places), axis_label(self.by) if self.by and not direct else ""
        )
        return figure

    def _panel(
        self, axes: Axes, rows: Sequence[Record], places: dict[Any, int], all_rows: Sequence[Record]
    ) -> list[End]:
        """One panel. Its axes are those of all rows. Returns where each line ends."""
        self._scale(axes, all_rows)
        ends: list[End] = []
        for name, place in places.items():
            own, how = of_value(rows, self.by, name), look(place)
            points = self._points(own, self.y, all_rows)
            axes.plot(
                *_apart(points), linestyle=how.dash, color=how.color, marker=how.marker, markersize=3.5, linewidth=1.2
            )
            if self.bound:
                bounds = self._points(own, self.bound, all_rows)
                axes.plot(*_apart(bounds), linestyle=BOUND_DASH, color=how.color, linewidth=0.9)
            if self.marks:
                axes.plot(
                    *_apart(self._points(own, self.marks, all_rows)),
                    linestyle="",
                    marker="x",
                    color=how.color if len(places) > 1 else MARK_COLOR,
                    markersize=6,
                    zorder=4,
                )
            if points:
                ends.append((shown(name), how, points[-1]))
        return ends

    def _points(self, rows: Sequence[Record], column: str, all_rows: Sequence[Record]) -> list[Point]:
        """Points in the order of x; zeros of a logarithmic axis stand at its foot."""
        words = {} if numeric(all_rows, self.x) else {v: i for i, v in enumerate(distinct(all_rows, self.x))}
        x_foot = log_floor(_values(all_rows, (self.x,))) if self.x_log and not words else 0.0
        y_foot = log_floor(_values(all_rows, self._heights)) if self.y_log else 0.0
        points = []
        for row in rows:
            x = float(words[row[self.x]]) if words else number(row, self.x, self.x_log)
            y = number(row, column, self.y_log)
            if x is not None and y is not None:
                points.append((x or x_foot, y or y_foot))
        return sorted(points, key=lambda point: point[0])

    @property
    def _heights(self) -> tuple[str, ...]:
        """Columns that are drawn upwards."""
        return tuple(column for column in (self.y, self.bound, self.marks) if column)

    def _scale(self, axes: Axes, rows: Sequence[Record]) -> None:
        """Scales and ticks of both axes."""
        if not numeric(rows, self.x):
            words = distinct(rows, self.x)
            axes.set_xticks(range(len(words)), [shown(word) for word in words])
        else:
            scale(axes, "x", _values(rows, (self.x,)), log=self.x_log, points=True)
        scale(axes, "y", _values(rows, self._heights), log=self.y_log)
        axes.grid(axis="y")

    def _legend(self, places: dict[Any, int]) -> dict[str, Any]:
        """Entries of the legend: the lines, unless they are named at their ends, the bound and the marks."""
        from matplotlib.lines import Line2D

        entries: dict[str, Any] = {}
        if self.by:
            for name, place in places.items():
                how = look(place)
                entries[str(name)] = Line2D(
                    [], [], color=how.color, linestyle=how.dash, marker=how.marker, markersize=3.5, linewidth=1.2
                )
        if self.bound:
            entries[quantity(self.bound)] = Line2D([], [], color=BOUND_COLOR, linestyle=BOUND_DASH, linewidth=0.9)
        if self.marks:
            entries[quantity(self.marks)] = Line2D([], [], color=MARK_COLOR, linestyle="", marker="x", markersize=6)
        return entries


def _apart(points: Sequence[Point]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _values(rows: Sequence[Record], columns: Sequence[str]) -> list[float]:
    found = (number(row, column) for row in rows for column in columns)
    return [value for value in found if value is not None]


def _name_ends(axes: Axes, ends: Sequence[End]) -> bool:
    """The name of each line right of its last point, moved a little where names would lie on each other.

    Returns whether they are there: none is where one would have to stand beside another's line, or among lines that
    go on further.
    """
    if len({x for *_, (x, _y) in ends}) > 1:
        return False
    axes_inches = axes.figure.get_figheight() - 0.7  # type: ignore[union-attr]
    gap = LINE_OF_TEXT_INCHES / axes_inches
    to_share = axes.transScale + axes.transLimits
    wanted = sorted((float(to_share.transform(end)[1]), name, how, end) for name, how, end in ends)
    placed: list[float] = []
    for height, *_ in wanted:
        placed.append(max(height, placed[-1] + gap) if placed else height)
    over = max(0.0, placed[-1] - 1.0) if placed else 0.0
    heights = [max(0.0, height - over) for height in placed]
    if any(abs(height - own) > MOST_MOVED * gap for height, (own, *_) in zip(heights, wanted, strict=True)):
        return False
    for (_, name, how, (x, _y)), height in zip(wanted, heights, strict=True):
        y = float(to_share.inverted().transform((0, height))[1])
        beside(axes, name, (x, y), color=dark(how.color), fontweight="bold", offset=6)
    return True


def chart(asked: Asked) -> Lines:
    """The chart of these options."""
    asked.only(("x", "y"), ("by", "panel", "bound", "marks"), ("x", "y"))
    return Lines(
        asked.name,
        asked.x,
        asked.one_y,
        by=asked.by,
        panel=asked.panel,
        title=asked.title,
        x_log="x" in asked.log,
        y_log="y" in asked.log,
        bound=asked.bound,
        marks=asked.marks,
    )
