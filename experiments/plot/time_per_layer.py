"""What a layer takes beside its bytes, by model and number of members, a panel a machine; crosses are published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.picture import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from experiments.survey import Record

OF = "records"
COLORS = ("#3f90da", "#ffa90e", "#bd1f01", "#832db6")
HATCHES = ("", "////", "....", "xxxx")
BAR = 0.8


def draw(records: Sequence[Record]) -> Picture:
    """A panel a machine: groups of bars a model, a bar a number of members."""
    from matplotlib.figure import Figure

    machines = list(dict.fromkeys(record["machine"] for record in records))
    members = list(dict.fromkeys(record["members"] for record in records))
    figure = Figure(figsize=(7.0, 2.6), layout="constrained")
    panels = figure.subplots(1, len(machines), squeeze=False)[0]
    for axes, machine in zip(panels, machines, strict=True):
        panel(axes, [record for record in records if record["machine"] == machine], members)
        axes.set(title=machine, ylabel="us a layer beside its bytes")
    handles = {
        label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles))
    return Picture(figure, tuple(dict(record) for record in records))


def panel(axes: Axes, records: Sequence[Record], members: Sequence[int]) -> None:
    """The bars of one machine."""
    models = list(dict.fromkeys(record["model"] for record in records))
    width = BAR / len(members)
    for number, count in enumerate(members):
        own = [record for record in records if record["members"] == count]
        places = [models.index(record["model"]) + (number - (len(members) - 1) / 2) * width for record in own]
        heights = [record["layer_us"] for record in own]
        axes.bar(
            places,
            heights,
            width,
            color=COLORS[number % 4],
            hatch=HATCHES[number % 4],
            edgecolor="white",
            label=f"{count} in parallel",
        )
        told = [(place, one["published_layer_us"]) for place, one in zip(places, own, strict=True)]
        known = [(place, us) for place, us in told if us is not None]
        if known:
            where, published_us = zip(*known, strict=True)
            axes.scatter(where, published_us, marker="x", color="black", s=24, zorder=3, label="from published times")
    axes.set_xticks(range(len(models)), [model.removeprefix("llama-") for model in models])
    axes.set_ylim(0)
