"""What sums over members take of a run's time, by number of members and way to sum; a panel a model and phase."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.picture import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from experiments.survey import Record

OF = "records"
COLORS = ("#3f90da", "#832db6", "#ffa90e", "#bd1f01")
HATCHES = ("", "xxxx", "////", "....")
BAR = 0.8


def draw(records: Sequence[Record]) -> Picture:
    """Groups of bars a number of members, a bar a way; where there is no bar, the model does not fit."""
    from matplotlib.figure import Figure

    summed = [record for record in records if record["members"] > 1]
    models, phases, ways = (list(dict.fromkeys(r[key] for r in summed)) for key in ("model", "phase", "sums_as"))
    figure = Figure(figsize=(7.0, 4.4), layout="constrained")
    grid = figure.subplots(len(phases), len(models), squeeze=False)
    for line, phase in zip(grid, phases, strict=True):
        for axes, model in zip(line, models, strict=True):
            panel(axes, [r for r in summed if (r["model"], r["phase"]) == (model, phase)], ways)
            axes.set(title=f"{model}, {phase}", ylabel="% of the time")
    for axes in grid[-1]:
        axes.set(xlabel="members")
    found = {label: bar for axes in grid.flat for bar, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    shown = [way for way in ways if way in found]
    figure.legend([found[way] for way in shown], shown, loc="outside lower center", ncols=len(shown), title="sums as")
    return Picture(figure, tuple(dict(record) for record in records))


def panel(axes: Axes, records: Sequence[Record], ways: Sequence[str]) -> None:
    """The bars of one model and phase."""
    members = sorted({record["members"] for record in records})
    here = [way for way in ways if any(record["sums_as"] == way for record in records)]
    width = BAR / max(1, len(here))
    for place, way in enumerate(here):
        own = [record for record in records if record["sums_as"] == way]
        axes.bar(
            [members.index(record["members"]) + (place - (len(here) - 1) / 2) * width for record in own],
            [record["sums_percent"] for record in own],
            width,
            color=COLORS[ways.index(way) % 4],
            hatch=HATCHES[ways.index(way) % 4],
            edgecolor="white",
            label=way,
        )
    axes.set_xticks(range(len(members)), [str(count) for count in members])
    axes.set_ylim(0)
