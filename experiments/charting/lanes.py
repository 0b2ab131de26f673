"""Blocks drawn on lanes: a rectangle each, in the colour and hatch of its unit's class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from experiments.charting.blocks import Block, sub_lanes
from experiments.charting.columns import shown
from experiments.charting.palette import AMBER, ASH, BLUE, BROWN, CYAN, GREY, ORANGE, PURPLE, RED, SAND, text_on

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

# Colour and hatch of a unit class, the same in all pictures.
CLASS_STYLES: Mapping[str, tuple[str, str]] = {
    "matrix": (RED, "////"),
    "vector": (AMBER, "\\\\\\\\"),
    "special": (ORANGE, "...."),
    "memory": (BLUE, ""),
    "network": (CYAN, "xxxx"),
    "issue": (PURPLE, "----"),
    "sync": (SAND, "||||"),
    "launch": (GREY, "++++"),
}
# Of a part of the overlap account. What runs alone has its class's colour.
PART_STYLES: Mapping[str, tuple[str, str]] = {
    "overlapped": (ASH, ""),
    **{f"exposed_{name}": CLASS_STYLES[name] for name in ("matrix", "vector", "memory", "network")},
    "in_flight": (BROWN, "...."),
    "issue": CLASS_STYLES["issue"],
    "synchronisation": CLASS_STYLES["sync"],
    "launch": CLASS_STYLES["launch"],
    "idle": ("#eeeeee", ""),
}
STYLES: Mapping[str, tuple[str, str]] = {**CLASS_STYLES, **PART_STYLES}
LANE_HEIGHT = 0.84
# Letters of the size of labels in an inch.
LABEL_LETTERS = 20
# Of an axis: what is hardly wider than a line.
THIN = 1 / 250

# The corners of a rectangle from its left upper one.
Corners = tuple[tuple[float, float], tuple[float, float], tuple[float, float], tuple[float, float]]


def draw_blocks(axes: Axes, blocks: Sequence[Block], lanes: Sequence[str], factor: float, inches: float) -> None:
    """The blocks on their lanes, from the top down, overlapping ones in sub-lanes of half the height or less.

    factor: what a cycle is on the axis. inches: how wide the axis is, to see which labels fit; lengths on the axis
    come from its limits, which are set before.
    """
    placed = sub_lanes(blocks)
    widths: dict[str, int] = {}
    for lane, place in placed:
        widths[lane] = max(widths.get(lane, 0), place + 1)
    where = {lane: number for number, lane in enumerate(lanes)}
    by_style: dict[str, list[Corners]] = {}
    low, high = axes.get_xlim()
    letter = (high - low) / inches / LABEL_LETTERS
    for block, (lane, place) in zip(blocks, placed, strict=True):
        height = LANE_HEIGHT / widths[lane]
        top = where[lane] - LANE_HEIGHT / 2 + place * height
        left, right = block.start * factor, block.end * factor
        corners = ((left, top), (right, top), (right, top + height), (left, top + height))
        by_style.setdefault(block.what, []).append(corners)
        left, right = max(left, low), min(right, high)
        if widths[lane] == 1 and block.label and right - left > letter * (len(block.label) + 1):
            _label(axes, block, ((left + right) / 2, where[lane]))
    for what in (name for name in STYLES if name in by_style):
        _add(axes, by_style[what], what, thin=(high - low) * THIN)
    axes.set_yticks(range(len(lanes)), [shown(lane) for lane in lanes])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(lanes) - 0.4, -0.6)


def _label(axes: Axes, block: Block, where: tuple[float, float]) -> None:
    """A block's label in its middle, on its colour."""
    color = STYLES[block.what][0]
    around = {"facecolor": color, "edgecolor": "none", "pad": 0.6}
    how: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 5, "color": text_on(color), "clip_on": True}
    axes.text(*where, shown(block.label), bbox=around, **how)


def _add(axes: Axes, corners: Sequence[Corners], what: str, thin: float) -> None:
    """Rectangles of one style. A white edge parts neighbours; it would hide one that is hardly wider than a line."""
    from matplotlib.collections import PolyCollection

    color, hatch = STYLES[what]
    wide = [four for four in corners if four[1][0] - four[0][0] > thin]
    narrow = [four for four in corners if four[1][0] - four[0][0] <= thin]
    if wide:
        axes.add_collection(PolyCollection(wide, facecolor=color, edgecolor="white", linewidth=0.3, hatch=hatch))
    if narrow:
        axes.add_collection(PolyCollection(narrow, facecolor=color, edgecolor=color, linewidth=0.2))


def lanes_in_order(blocks: Iterable[Block]) -> tuple[str, ...]:
    """Lanes in the order of their first block."""
    return tuple(dict.fromkeys(block.lane for block in blocks))


def style_entries(blocks: Iterable[Block], names: Iterable[str] = CLASS_STYLES) -> dict[str, Any]:
    """Entries of a legend: of these styles those that are drawn."""
    used = {block.what for block in blocks}
    return {name.replace("_", " "): style_patch(name) for name in names if name in used}


def style_patch(name: str) -> Patch:
    """What stands for a style in a legend."""
    from matplotlib.patches import Patch

    color, hatch = STYLES[name]
    return Patch(facecolor=color, hatch=hatch, edgecolor="white")
