"""Figures of the two widths of a paper's columns, with what all of them have: a title, a legend, plain text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from experiments.charting.columns import shown
from experiments.picture import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# What no line breaks between.
NUMBER_AND_UNIT = re.compile(r"(\d) ((?:[munp]?s|calls?)\b)")
ONE_COLUMN, TWO_COLUMNS = 3.33, 7.0
# About as many letters of the size of titles fit in an inch.
LETTERS_AN_INCH = 16
LEGEND_LETTERS_AN_INCH = 19.5
HANDLE_LETTERS = 7
TITLE_LINE_INCHES = 0.135
LEGEND_LINE_INCHES = 0.15
PANEL_LETTERS_AN_INCH = 14.5


def both_widths(draw: Callable[[float], Figure], rows: Sequence[Mapping[str, object]]) -> Picture:
    """A picture for two columns, and the same for one: draw(inches) makes either."""
    return Picture(draw(TWO_COLUMNS), tuple(dict(row) for row in rows), draw(ONE_COLUMN))


def sheet(width: float, height: float, title: str = "") -> Figure:
    """An empty figure whose title stands at the left, above `height` inches for what is drawn."""
    from matplotlib.figure import Figure

    above = wrapped(title, int(width * LETTERS_AN_INCH))
    title_inches = TITLE_LINE_INCHES * (above.count("\n") + 1) + 0.06 if title else 0.0
    figure = Figure(figsize=(width, height + title_inches), layout="constrained")
    if title:
        figure.suptitle(above, fontsize=8, x=0.005, ha="left")
    return figure


def wrapped(text: str, letters: int) -> str:
    """A text in lines of at most so many letters, broken between words where that is possible."""
    from textwrap import wrap

    return "\n".join(line for part in text.split("\n") for line in wrap(part, max(letters, 8)))


def name_panel(axes: Axes, text: str, width: float) -> None:
    """A title above a panel that takes the figure's whole width, from its left edge on."""
    lines = wrapped(NUMBER_AND_UNIT.sub("\\1\u00a0\\2", text), int(width * PANEL_LETTERS_AN_INCH))
    # Room for it is made by an empty title: one that begins left of the axes would push these to the right.
    axes.set_title("\n".join(" " for _ in lines.split("\n")))
    at = {"xycoords": ("figure fraction", "axes fraction"), "xytext": (0, 5), "textcoords": "offset points"}
    label = axes.annotate(lines, (0.01, 1.0), va="bottom", ha="left", fontweight="bold", fontsize=7.5, **at)  # type: ignore[arg-type]
    label.set_in_layout(False)


def legend_below(figure: Figure, entries: Mapping[str, Any], title: str = "") -> None:
    """A legend under the figure: name -> what stands for it. Names are shown as they are, whatever is in them.

    The figure gets that much higher.
    """
    if not entries:
        return
    names = [shown(name) for name in entries]
    room = figure.get_figwidth() * LEGEND_LETTERS_AN_INCH
    columns = max(1, min(len(names), int(room // (max(map(len, names)) + HANDLE_LETTERS))))
    lines = -(-len(names) // columns) + bool(title)
    figure.set_figheight(figure.get_figheight() + LEGEND_LINE_INCHES * lines + 0.12)
    # A name that starts with an underscore would be left out, so names are put in afterwards.
    legend = figure.legend(
        list(entries.values()),
        [str(place) for place in range(len(names))],
        loc="outside lower center",
        ncols=columns,
        title=title or None,
        handlelength=2.0,
        columnspacing=1.2,
        handletextpad=0.5,
    )
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(name)


def beside(axes: Axes, text: str, where: tuple[float, float], **how: Any) -> None:
    """A small text a little to the right of a point of the data."""
    axes.annotate(
        text,
        where,
        xytext=(how.pop("offset", 4), 0),
        textcoords="offset points",
        va="center",
        fontsize=how.pop("fontsize", 7),
        annotation_clip=False,
        **how,
    )
