"""One or several columns by a name as bars, side by side or stacked, a panel for each value of another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
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
from experiments.charting.palette import MARK_COLOR, look
from experiments.charting.scales import log_floor, make_linear, scale
from experiments.charting.sheet import ONE_COLUMN, beside, both_widths, legend_below, name_panel, sheet, wrapped
from experiments.picture import Picture
from experiments.text.quantity import bytes_text, digits

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OF = "data"
BAR_INCHES = 0.17
GROUP_GAP = 0.5
MOST_BARS = 250
# Of a number beside a bar.
LETTER_INCHES = 0.06
# Letters of a line of a bar's name in the figure of one column: where several bars have one name, and where each has
# its own, of which no three lines fit beside it.
NARROW_LETTERS, SINGLE_LETTERS = 18, 24


@dataclass(frozen=True)
class Place:
    """A bar: of which row, which of the values, from where on, how high up, and how it looks."""

    row: Record
    column: str
    start: float
    height: float
    look: int


@dataclass(frozen=True)
class Bars:
    """Horizontal bars with their numbers beside them: for each row each column of `values`, one above the other or
    `stacked`. Rows of one `label` that follow each other stand together, and `by` colours them. bound: a column drawn
    as a line across each bar; marks: a column of published values, drawn as crosses. A panel a value of `panel`, all
    on one axis. Raises UnknownName, and UserError for values that are no finite numbers.
    """

    name: str
    label: str
    values: tuple[str, ...]
    by: str = ""
    panel: str = ""
    stacked: bool = False
    title: str = ""
    x_label: str = ""
    log: bool = False
    bound: str = ""
    marks: str = ""

    def draw(self, records: Sequence[Record]) -> Picture:
        """The bars and their numbers."""
        rows = drawn_rows(records, (self.panel, self.label, self.by, *self.values, self.bound, self.marks))
        return both_widths(lambda width: self._figure(width, rows), rows)

    def _figure(self, width: float, rows: Sequence[Record]) -> Figure:
        panels = distinct(rows, self.panel)
        looks = {name: place for place, name in enumerate(distinct(rows, self.by) if self.by else self.values)}
        parts = [of_value(rows, self.panel, panel) for panel in panels]
        at_most(len(rows) * (1 if self.stacked else len(self.values)), MOST_BARS, "bars")
        heights = [0.25 + BAR_INCHES * self._top(part) for part in parts]
        figure = sheet(width, 0.4 + sum(heights) + 0.1 * len(heights), self.title)
        grid = figure.subplots(len(panels), 1, squeeze=False, sharex=True, height_ratios=heights)[:, 0]
        foot = log_floor(self._all_values(rows)) if self.log else 0.0
        letters = SINGLE_LETTERS if self.stacked or (len(self.values) == 1 and not self.by) else NARROW_LETTERS
        for axes, panel, part in zip(grid, panels, parts, strict=True):
            self._scale(axes, rows)
            self._panel(axes, part, looks, foot, letters if width == ONE_COLUMN else 2 * NARROW_LETTERS)
            if self.panel:
                name_panel(axes, shown(panel), width)
            if numeric(rows, self.label):
                axes.set_ylabel(axis_label(self.label))
        label = self.x_label or values_label(self.values)
        grid[-1].set_xlabel(wrapped(label + (" (log scale)" if self.log else ""), int(width * 12)))
        legend_below(figure, self._legend(looks), axis_label(self.by) if self.by else "")
        return figure

    def _top(self, rows: Sequence[Record]) -> float:
        """Height of a panel, in bars."""
        return max((place.height for place in self._places(rows, {})), default=0) + 1

    def _places(self, rows: Sequence[Record], looks: Mapping[Any, int]) -> Iterator[Place]:
        """Every bar, from the top down."""
        height = 0.0
        for _, group in groupby(rows, key=lambda row: row[self.label]):
            for row in group:
                start = 0.0
                for column in self.values:
                    own = looks.get(row[self.by] if self.by else column, 0)
                    yield Place(row, column, start, height, own)
                    start += (number(row, column) or 0.0) if self.stacked else 0.0
                    height += 0 if self.stacked else 1
                height += 1 if self.stacked else 0
            height += GROUP_GAP

    def _panel(self, axes: Axes, rows: Sequence[Record], looks: Mapping[Any, int], foot: float, letters: int) -> None:
        """One panel; its numbers need room to the right, which the axis has."""
        places = list(self._places(rows, looks))
        values = [number(place.row, place.column, self.log) for place in places]
        looked = [look(place.look) for place in places]
        axes.barh(
            [place.height for place in places],
            [value or 0.0 for value in values],
            left=[place.start for place in places],
            height=0.86,
            color=[how.color for how in looked],
            hatch=[how.hatch for how in looked],
            edgecolor="white",
        )
        for place, value in zip(places, values, strict=True):
            if not self.stacked:
                text = "-" if value is None else number_text(value, place.column)
                self._number(axes, text, place, max(value or 0.0, foot))
        for _, group in groupby(places, key=lambda place: id(place.row)):
            self._row_marks(axes, list(group), foot)
        self._names(axes, places, letters)

    def _row_marks(self, axes: Axes, places: Sequence[Place], foot: float) -> None:
        """What stands beside the bars of one row: the sum of stacked ones, the bound and the published value."""
        row = places[0].row
        low, high = places[0].height - 0.43, places[-1].height + 0.43
        if self.stacked:
            known = _known(row, self.values, self.log)
            text = number_text(sum(known), self.values[0]) if known else "-"
            self._number(axes, text, places[0], max(sum(known), foot))
        bound = number(row, self.bound, self.log) if self.bound else None
        if bound is not None:
            axes.plot([bound or foot] * 2, [low, high], color=MARK_COLOR, linewidth=1.4, zorder=4)
        mark = number(row, self.marks, self.log) if self.marks else None
        if mark is not None:
            axes.plot([mark or foot], [(low + high) / 2], color=MARK_COLOR, marker="x", markersize=5, zorder=5)

    def _number(self, axes: Axes, text: str, place: Place, end: float) -> None:
        """A bar's number right of its end, or of what is drawn where it would stand."""
        low, high = axes.get_xlim()
        share = (len(text) + 2) * LETTER_INCHES / axes.figure.get_figwidth() / 0.75  # type: ignore[union-attr]
        reach = end * (high / low) ** share if self.log else end + (high - low) * share
        drawn = [number(place.row, column) or 0.0 for column in (self.bound, self.marks) if column]
        # A mark that is centred a little left of the end reaches over it.
        left = end / (high / low) ** (share / 8) if self.log else end - (high - low) * share / 8
        over = [value for value in drawn if left <= value <= reach]
        beside(axes, text, (max([end, *over]), place.height), fontsize=6.5, offset=7 if over else 4)

    def _names(self, axes: Axes, places: Sequence[Place], letters: int) -> None:
        """A name at the middle of the bars of a label."""
        ticks, names = [], []
        for label, group in groupby(places, key=lambda place: place.row[self.label]):
            heights = [place.height for place in group]
            ticks.append((heights[0] + heights[-1]) / 2)
            names.append(wrapped(shown(label), letters))
        axes.set_yticks(ticks, names)
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(places[-1].height + 0.7, -0.7)

    def _all_values(self, rows: Sequence[Record]) -> list[float]:
        """All that the axis spans."""
        found: list[float] = []
        for row in rows:
            own = _known(row, self.values, self.log)
            found += [sum(own)] if self.stacked and own else own
            found += _known(row, [column for column in (self.bound, self.marks) if column], self.log)
        return found

    def _scale(self, axes: Axes, rows: Sequence[Record]) -> None:
        """One axis for all panels, with room for the numbers."""
        values = self._all_values(rows)
        if self.log:
            scale(axes, "x", values, log=True)
            low, high = axes.get_xlim()
            axes.set_xlim(low, high * (high / low) ** 0.15)
        else:
            make_linear(axes.xaxis)
            axes.set_xlim(min([0.0, *values]) * 1.1, max([0.0, *values]) * 1.15 or 1)
        axes.grid(axis="x")

    def _legend(self, looks: Mapping[Any, int]) -> dict[str, Any]:
        """What the colours are, the bound and the marks."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        entries: dict[str, Any] = {}
        if self.by or len(self.values) > 1:
            for name, place in looks.items():
                how = look(place)
                entries[str(name) if self.by else quantity(str(name))] = Patch(
                    facecolor=how.color, hatch=how.hatch, edgecolor="white"
                )
        if self.bound:
            entries[quantity(self.bound)] = Line2D([], [], color=MARK_COLOR, linestyle="", marker="|", markersize=8)
        if self.marks:
            entries[quantity(self.marks)] = Line2D([], [], color=MARK_COLOR, linestyle="", marker="x", markersize=5)
        return entries


def _known(row: Record, columns: Sequence[str], log: bool) -> list[float]:
    """The numbers of a row in some columns, where it has any."""
    return [value for column in columns if (value := number(row, column, log)) is not None]


def values_label(columns: Sequence[str]) -> str:
    """The label of an axis on which several columns are: of one its name, of several the unit that they share."""
    labels = list(dict.fromkeys(axis_label(column) for column in columns))
    units = list(dict.fromkeys(label.rpartition(", ")[2] for label in labels))
    return units[0] if len(labels) > 1 and len(units) == 1 else ", ".join(labels)


def number_text(value: float, column: str = "") -> str:
    """The number beside a bar: four digits, whole ones as they are, bytes with a prefix."""
    if column.endswith("bytes") and value >= 1000:
        return bytes_text(int(value))
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"-{digits(-value)}" if value < 0 else digits(value) if value >= 0.01 else f"{value:.3g}"


def chart(asked: Asked) -> Bars:
    """The chart of these options: --x names bars, --y is as long as they are."""
    asked.only(("x", "y"), ("by", "panel", "bound", "marks", "stacked"), ("y",))
    return Bars(
        asked.name,
        asked.x,
        asked.y,
        by=asked.by,
        panel=asked.panel,
        stacked=asked.stacked,
        title=asked.title,
        log=bool(asked.log),
        bound=asked.bound,
        marks=asked.marks,
    )
