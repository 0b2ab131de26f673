"""Where the boxes, frames and arrows of a diagram stand, in points from the left and from the top.

Graphviz places them where pygraphviz (the extra `graph`) is installed; layers.py does it plainly where it is not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from experiments.diagram import Box, Diagram, Frame, Numbered, boxes_in, numbered

LINES = 2
LETTER_POINTS = 6.2
LINE_POINTS = 13.0
POINTS_AN_INCH = 72
# Around the boxes of a frame, and what its title takes beside that.
FRAME_POINTS = 18
TITLE_POINTS = 7.0
Point = tuple[float, float]


@dataclass(frozen=True)
class PlacedBox:
    """A box around a centre."""

    box: Box
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class PlacedFrame:
    """A frame from its upper left corner."""

    title: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Route:
    """An arrow: the way from box to box as points of cubic curves, the first point and then three for each."""

    start: str
    end: str
    points: tuple[Point, ...]
    again: bool


@dataclass(frozen=True)
class Drawing:
    """Everything placed; frames that hold others stand before them."""

    width: float
    height: float
    boxes: tuple[PlacedBox, ...]
    frames: tuple[PlacedFrame, ...]
    routes: tuple[Route, ...]


def drawing_of(diagram: Diagram) -> Drawing:
    """The diagram, placed."""
    from experiments.page.layers import layered

    try:
        from pygraphviz import AGraph  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        return layered(diagram)
    key = numbered(diagram)
    content = AGraph(string="\n".join(dot_lines(diagram, key))).draw(format="json", prog="dot")
    return read_drawing(diagram, json.loads(content), key)


def size_of(box: Box) -> tuple[float, float]:
    """Width and height of a box that holds its first lines."""
    lines = box.lines[:LINES]
    return max(map(len, lines)) * LETTER_POINTS + 14, len(lines) * LINE_POINTS + 8


def dot_lines(diagram: Diagram, key: Numbered) -> Iterator[str]:
    """What Graphviz needs to know: boxes of a size, in frames, and arrows."""
    yield 'digraph { rankdir=TB; nodesep=0.2; ranksep=0.38; node [shape=box, fixedsize=true, label=""];'
    numbers = iter(range(len(diagram.boxes) + len(diagram.items) + 1))
    for item in diagram.items:
        yield from dot_item(item, key, numbers)
    for arrow in diagram.arrows:
        marks = "[constraint=false]" if arrow.again else ""
        yield f"{key(arrow.start)} -> {key(arrow.end)} {marks};"
    yield "}"


def dot_item(item: Box | Frame, key: Numbered, numbers: Iterator[int]) -> Iterator[str]:
    """A box, or a frame as a cluster."""
    if isinstance(item, Box):
        width, height = (points / POINTS_AN_INCH for points in size_of(item))
        yield f"{key(item.key)} [width={width:.3f}, height={height:.3f}];"
    elif any(True for _ in boxes_in(item.items)):
        yield f"subgraph cluster_{next(numbers)} {{ margin={FRAME_POINTS};"
        for inner in item.items:
            yield from dot_item(inner, key, numbers)
        yield "}"


def read_drawing(diagram: Diagram, found: dict[str, Any], key: Numbered) -> Drawing:
    """What Graphviz says, with the y axis pointing down."""
    _, _, width, height = numbers_in(found["bb"])
    objects = found.get("objects", [])
    centres = {one["name"]: numbers_in(one["pos"]) for one in objects if "pos" in one}
    names = {key(box.key): box.key for box in diagram.boxes}
    boxes = tuple(
        PlacedBox(box, centres[key(box.key)][0], height - centres[key(box.key)][1], *size_of(box))
        for box in diagram.boxes
    )
    corners = (numbers_in(one["bb"]) for one in objects if one["name"].startswith("cluster"))
    frames = tuple(
        PlacedFrame(frame.title, left, height - top - TITLE_POINTS, right - left, top - bottom + TITLE_POINTS)
        for frame, (left, bottom, right, top) in zip(frames_in(diagram.items), corners, strict=True)
    )
    routes = tuple(
        Route(
            names[objects[edge["tail"]]["name"]],
            names[objects[edge["head"]]["name"]],
            spline(edge["pos"], height),
            edge.get("constraint") == "false",
        )
        for edge in found.get("edges", [])
    )
    return Drawing(width, height, boxes, frames, routes)


def frames_in(items: tuple[Box | Frame, ...]) -> Iterator[Frame]:
    """Frames that hold boxes, each before those in it."""
    for item in items:
        if isinstance(item, Frame) and any(True for _ in boxes_in(item.items)):
            yield item
            yield from frames_in(item.items)


def spline(text: str, height: float) -> tuple[Point, ...]:
    """'e,x,y x,y x,y ...': the points of the curve, and last where the arrow's head ends."""
    parts = text.split()
    head = [part[2:] for part in parts if part.startswith("e,")]
    points = [numbers_in(part) for part in parts if part[0] not in "es"]
    points += [numbers_in(part) for part in head for _ in range(3)]
    return tuple((x, height - y) for x, y in points)


def numbers_in(text: str) -> list[float]:
    """'1,2.5': the numbers."""
    return [float(number) for number in text.split(",")]
