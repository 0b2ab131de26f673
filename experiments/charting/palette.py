"""Colours, hatches, markers and dashes: each alone tells things apart, so that grey print and any eye will do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# petroff10, which was made for readers who see colours in different ways.
BLUE = "#3f90da"
AMBER = "#ffa90e"
RED = "#bd1f01"
PURPLE = "#832db6"
GREY = "#717581"
BROWN = "#a96b59"
ORANGE = "#e76300"
CYAN = "#92dadd"
SAND = "#b9ac70"
ASH = "#94a4a2"
COLORS = (BLUE, AMBER, RED, PURPLE, GREY, BROWN, ORANGE, CYAN, SAND, ASH)
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "----", "||||", "++++", "oooo", "**")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p")
# A line, or an offset and the lengths of ink and gaps.
Dash = Literal["-"] | tuple[float, tuple[float, ...]]
DASHES: tuple[Dash, ...] = ("-", (0, (6, 1.5)), (0, (1, 1)), (0, (4, 1, 1, 1)), (0, (2, 2)))
# What is not simulated but computed beside it.
BOUND_DASH: Dash = (0, (3, 2))
BOUND_COLOR = "#333333"
MARK_COLOR = "#000000"


@dataclass(frozen=True)
class Look:
    """How one of several things is drawn."""

    color: str
    hatch: str
    marker: str
    dash: Dash


def look(place: int) -> Look:
    """The look of the thing at a place among several; they repeat after as many as can be told apart."""
    return Look(
        COLORS[place % len(COLORS)],
        HATCHES[place % len(HATCHES)],
        MARKERS[place % len(MARKERS)],
        DASHES[place % len(DASHES)],
    )


def dark(color: str) -> str:
    """A colour's dark shade, for text."""
    return "#" + "".join(f"{int(color[place : place + 2], 16) * 6 // 10:02x}" for place in (1, 3, 5))


def text_on(color: str) -> str:
    """Black or white, whichever can be read on a colour."""
    red, green, blue = (int(color[place : place + 2], 16) for place in (1, 3, 5))
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "white"
