"""Predicted against measured, a panel for each family: on the diagonal the model is right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, floor, log10
from typing import TYPE_CHECKING

from experiments.picture import Picture
from experiments.validation.accuracy import targets
from experiments.validation.export import row_record

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from experiments.validate import FamilyResult, Validation
    from experiments.validation.row import Compared

OF = "validation"
# Colours and markers both tell the machines apart.
STYLES = (("#3f90da", "o"), ("#bd1f01", "s"), ("#ffa90e", "^"), ("#832db6", "D"), ("#717581", "v"), ("#92dadd", "P"))
PANELS_A_ROW = 3
PANEL_INCHES = 2.4
BAND = 1.2
# Ranges beyond this have ticks at powers of ten only.
WIDE = 300
# Ranges within this have a few ticks more.
NARROW = 8


def draw(validation: Validation) -> Picture:
    """Panels with logarithmic axes; the grey band is 20 % to either side of the diagonal.

    A point lies at the end of a measured range that is nearest to it, on the diagonal if it is inside.
    """
    from matplotlib.figure import Figure

    families = [found for found in validation.families if targets(found.compared)]
    wide = max(1, min(PANELS_A_ROW, len(families)))
    high = max(1, ceil(len(families) / wide))
    figure = Figure(figsize=(PANEL_INCHES * wide + 0.2, PANEL_INCHES * high + 0.5), layout="constrained")
    panels = figure.subplots(high, wide, squeeze=False).flatten()
    machines = sorted({compared.row.machine for found in families for compared in targets(found.compared)})
    styles = {machine: STYLES[number % len(STYLES)] for number, machine in enumerate(machines)}
    for axes, found in zip(panels, families, strict=False):
        draw_family(axes, found, styles)
    for axes in panels[len(families) :]:
        axes.set_axis_off()
    handles = {
        label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    if handles:
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles))
    return Picture(figure, tuple(rows(families)))


def draw_family(axes: Axes, found: FamilyResult, styles: dict[str, tuple[str, str]]) -> None:
    """One panel: rows as points, the diagonal, and what the errors come to."""
    compared = targets(found.compared)
    low, high = limits(compared)
    axes.fill_between([low, high], [low / BAND, high / BAND], [low * BAND, high * BAND], color="#e6e6e6", linewidth=0)
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
                label=machine,
            )
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), aspect="equal")
    label_axes(axes, low, high)
    units = sorted({one.row.unit for one in compared})
    unit = units[0] if len(units) == 1 else "each row in its unit"
    axes.set_xlabel(f"measured, {unit}")
    axes.set_ylabel(f"predicted, {unit}")
    accuracy = found.accuracy
    told = f"\n{accuracy.rows:,} rows, mean error {accuracy.mape_percent:.1f} %" if accuracy else ""
    axes.set_title(f"{found.name}{told}", fontsize=7)


def label_axes(axes: Axes, low: float, high: float) -> None:
    """The same few ticks on both axes: powers of ten, or more of each where the range is narrow or very narrow."""
    from matplotlib.ticker import FixedLocator, NullLocator

    steps = (1,) if high / low > WIDE else (1, 2, 5) if high / low > NARROW else (1, 2, 3, 5, 7)
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    ticks = [step * 10.0**power for power in powers for step in steps if low <= step * 10.0**power <= high]
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(FixedLocator(ticks))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(lambda value, _: f"{value:g}" if value < 1e5 else f"{value:.0e}".replace("e+0", "e"))


def limits(compared: Sequence[Compared]) -> tuple[float, float]:
    """A range that holds all points, with room around them."""
    values = [value for one in compared for value in (one.nearest, one.predicted) if value > 0]
    return min(values) / 1.5, max(values) * 1.5


def rows(families: Sequence[FamilyResult]) -> Iterator[dict[str, object]]:
    """The points as data."""
    for found in families:
        yield from (
            {"machine": one.row.machine, "group": one.row.group, **row_record(one)} for one in targets(found.compared)
        )
