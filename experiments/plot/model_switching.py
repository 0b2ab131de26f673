"""A request to a composition of experts: switching between models and running them, a panel a batch size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.picture import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from experiments.survey import Record

OF = "records"
RUN_COLOR, SWITCH_COLOR = "#3f90da", "#ffa90e"
BATCHES = (1, 8)


def draw(records: Sequence[Record]) -> Picture:
    """A bar a system: what its models run, and on top of it what switching takes."""
    from matplotlib.figure import Figure

    shown = [record for record in records if record["request_1_ms"] is not None]
    figure = Figure(figsize=(7.0, 2.8), layout="constrained")
    panels = figure.subplots(1, len(BATCHES), squeeze=False)[0]
    for axes, batch in zip(panels, BATCHES, strict=True):
        panel(axes, shown, batch)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(handles))
    return Picture(figure, tuple(dict(record) for record in records))


def panel(axes: Axes, records: Sequence[Record], batch: int) -> None:
    """The bars of one batch size; crosses are the published times, as many times the first bar as published."""
    names = [f"{r['members']} {r['machine']}\n{r['mode']}\n{r['links']}" for r in records]
    whole = [r[f"request_{batch}_ms"] for r in records]
    switching = [batch * r["switch_ms"] for r in records]
    running = [one - other for one, other in zip(whole, switching, strict=True)]
    axes.bar(names, running, color=RUN_COLOR, label="router and experts")
    axes.bar(names, switching, bottom=running, color=SWITCH_COLOR, hatch="////", edgecolor="white", label="switching")
    told = [(name, r[f"published_request_{batch}_ratio"]) for name, r in zip(names, records, strict=True)]
    known = [(name, whole[0] * ratio) for name, ratio in told if ratio is not None]
    if known:
        where, heights = zip(*known, strict=True)
        axes.scatter(where, heights, marker="x", color="black", s=24, zorder=3, label="as many times as published")
    axes.set(title=f"batch {batch}", ylabel="ms a request")
    axes.tick_params(axis="x", labelsize=5)
