"""Predicted against measured, a panel for each family: on the diagonal the model is right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any

from experiments.charting.palette import AMBER, BLUE, CYAN, GREY, PURPLE, RED
from experiments.charting.sheet import ONE_COLUMN, TWO_COLUMNS, both_widths, legend_below, sheet, wrapped
from experiments.picture import Picture
from experiments.validation.accuracy import targets

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments.validate import FamilyResult, Validation
    from experiments.validation.row import Compared

OF = "validation"
# Colours and markers both tell the machines apart.
STYLES = ((BLUE, "o"), (RED, "s"), (AMBER, "^"), (PURPLE, "D"), (GREY, "v"), (CYAN, "P"))
PANELS_A_ROW = {TWO_COLUMNS: 3, ONE_COLUMN: 2}
TITLE_LETTERS_AN_INCH, TICKS_AN_INCH = 10, 2.5
# Beside the diagonal.
BAND, BAND_COLOR = 1.2, "#e6e6e6"
# Ranges beyond this have ticks at powers of ten only.
WIDE = 300
# Ranges within this have a few ticks more.
NARROW = 8


def draw(validation: Validation) -> Picture:
    """Panels with logarithmic axes; the grey band is a factor of 1.2 to either side of the diagonal.

    A point lies at the end of a measured range that is nearest to it, on the diagonal if it is inside.
    """
    families = [found for found in validation.families if targets(found.compared)]
    return both_widths(lambda width: _figure(width, families), tuple(rows(families)))


def _figure(width: float, families: Sequence[FamilyResult]) -> Figure:
    across = max(1, min(PANELS_A_ROW[width], len(families)))
    down = max(1, ceil(len(families) / across))
    inches = width / PANELS_A_ROW[width]
    figure = sheet(inches * across if width != ONE_COLUMN else width, inches * down + 0.2 + 0.2 * down)
    panels = figure.subplots(down, across, squeeze=False).flatten()
    machines = sorted({compared.row.machine for found in families for compared in targets(found.compared)})
    styles = {machine: STYLES[number % len(STYLES)] for number, machine in enumerate(machines)}
    for axes, found in zip(panels, families, strict=False):
        draw_family(axes, found, styles, inches)
    for axes in panels[len(families) :]:
        axes.set_axis_off()
    legend_below(figure, _legend(styles))
    return figure


def _legend(styles: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    how: dict[str, Any] = {"linestyle": "", "markerfacecolor": "none", "markersize": 3.5, "markeredgewidth": 0.6}
    machines = {
        machine: Line2D([], [], marker=marker, markeredgecolor=color, **how)
        for machine, (color, marker) in styles.items()
    }
    return machines | {f"within a factor of {BAND:g}": Patch(facecolor=BAND_COLOR)}


def draw_family(axes: Axes, found: FamilyResult, styles: Mapping[str, tuple[str, str]], inches: float) -> None:
    """One panel: rows as points, the diagonal, and the mean error."""
    compared = targets(found.compared)
    low, high = limits(compared)
    axes.fill_between([low, high], [low / BAND, high / BAND], [low * BAND, high * BAND], color=BAND_COLOR, linewidth=0)
    axes.plot([low, high], [low, high], color="black", linewidth=0.6)
    for machine, (color, marker) in styles.items():
        of_machine = [one for one in compared if one.row.machine == machine]
        if of_machine:
            axes.scatter(
                [one.nearest for one in of_machine],
                [one.predicted for one in of_machine],
                s=7,
                marker=marker,
                facecolors="none",
                edgecolors=color,
                linewidths=0.6,
            )
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), aspect="equal")
    label_axes(axes, low, high, int(inches * TICKS_AN_INCH))
    units = sorted({one.row.unit for one in compared})
    unit = units[0] if len(units) == 1 else "own units"
    axes.set_xlabel(f"measured, {unit}")
    axes.set_ylabel(f"predicted, {unit}")
    accuracy = found.accuracy
    told = f"\n{accuracy.rows:,} rows, mean {accuracy.mape_percent:.1f}\u00a0%" if accuracy else ""
    axes.set_title(wrapped(f"{found.name}{told}", int(inches * TITLE_LETTERS_AN_INCH)), fontsize=6.5)


def label_axes(axes: Axes, low: float, high: float, most: int = 9) -> None:
    """The same few ticks on both axes: powers of ten, or more of each where the range is narrow or very narrow."""
    from matplotlib.ticker import FixedLocator, NullLocator

    steps = (1,) if high / low > WIDE else (1, 2, 5) if high / low > NARROW else (1, 2, 3, 5, 7)
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    ticks = [step * 10.0**power for power in powers for step in steps if low <= step * 10.0**power <= high]
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(FixedLocator(ticks[:: max(1, ceil(len(ticks) / most))]))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(lambda value, _: f"{value:g}" if value < 1e5 else f"{value:.0e}".replace("e+0", "e"))


def limits(compared: Sequence[Compared]) -> tuple[float, float]:
    """A range that holds all points, with room around them."""
    values = [value for one in compared for value in (one.nearest, one.predicted) if value > 0]
    return min(values) / 1.5, max(values) * 1.5


def rows(families: Sequence[FamilyResult]) -> Iterator[dict[str, object]]:
    """The points as data. measured_to: the upper end where a range was measured."""
    for found in families:
        for one in targets(found.compared):
            row = one.row
            yield {
                "family": found.name,
                "id": row.id,
                "machine": row.machine,
                "group": row.group,
                "predicted": one.predicted,
                "measured": row.measured,
                "measured_to": row.to,
                "unit": row.unit,
                "source": row.source,
                "explanation": one.explanation,
            }
