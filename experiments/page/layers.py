"""A plain drawing without Graphviz: each frame's boxes in layers, a box below all that it reads, frames one below
another. In a layer boxes stand in the order of what they read, so that few arrows cross.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from experiments.diagram import Arrow, Box, Diagram, Frame, boxes_in
from experiments.page.layout import Drawing, PlacedBox, PlacedFrame, Route, size_of

BETWEEN = 16.0
LAYER = 30.0
MARGIN = 14.0
TITLE = 20.0
# What joins boxes of one column over a distance goes aside by this share of it.
NEAR = 60.0
ASIDE = 0.3
Section = tuple[str, tuple[Box, ...]]


def layered(diagram: Diagram) -> Drawing:
    """The diagram, placed."""
    boxes: list[PlacedBox] = []
    frames: list[PlacedFrame] = []
    top = MARGIN
    for title, held in sections(diagram):
        above = TITLE if title else 0.0
        placed = placed_in_layers(held, diagram.arrows, top + above + (MARGIN if title else 0))
        boxes += placed
        bottom = max(one.y + one.height / 2 for one in placed)
        if title:
            frames.append(PlacedFrame(title, 0, top, 0, bottom + MARGIN - top))
            bottom += MARGIN
        top = bottom + LAYER
    width = max((one.x + one.width / 2 for one in boxes), default=0.0) + 2 * MARGIN
    frames = [replace(frame, width=width - MARGIN) for frame in frames]
    where = {one.box.key: one for one in boxes}
    routes = tuple(route(arrow, where) for arrow in diagram.arrows)
    return Drawing(width, top, tuple(boxes), tuple(frames), routes)


def sections(diagram: Diagram) -> Iterator[Section]:
    """What stands below each other: boxes outside of frames, and each outermost frame that holds boxes."""
    loose: list[Box] = []
    for item in diagram.items:
        if isinstance(item, Box):
            loose.append(item)
            continue
        if loose:
            yield "", tuple(loose)
            loose = []
        if held := tuple(boxes_in((item,))):
            yield item.title if isinstance(item, Frame) else "", held
    if loose:
        yield "", tuple(loose)


def placed_in_layers(held: Sequence[Box], arrows: Sequence[Arrow], top: float) -> list[PlacedBox]:
    """The boxes of one section."""
    keys = {box.key for box in held}
    sources: dict[str, list[str]] = defaultdict(list)
    for arrow in arrows:
        if arrow.start in keys and arrow.end in keys and not arrow.again:
            sources[arrow.end].append(arrow.start)
    depth: dict[str, int] = {}
    for box in held:
        depth[box.key] = 1 + max((depth.get(key, -1) for key in sources[box.key]), default=-1)
    layers: dict[int, list[Box]] = defaultdict(list)
    for box in held:
        layers[depth[box.key]].append(box)
    found: list[PlacedBox] = []
    middle: dict[str, float] = {}
    for number in sorted(layers):
        layer = sorted(layers[number], key=lambda box: wanted(box.key, sources, middle))
        left = MARGIN
        height = max(size_of(box)[1] for box in layer)
        for box in layer:
            width, own_height = size_of(box)
            x = max(left + width / 2, wanted(box.key, sources, middle))
            found.append(PlacedBox(box, x, top + height / 2, width, own_height))
            middle[box.key] = x
            left = x + width / 2 + BETWEEN
        top += height + LAYER
    return found


def wanted(key: str, sources: Mapping[str, Sequence[str]], middle: Mapping[str, float]) -> float:
    """Below the middle of what a box reads."""
    places = [middle[source] for source in sources.get(key, ()) if source in middle]
    return sum(places) / len(places) if places else 0.0


def route(arrow: Arrow, where: Mapping[str, PlacedBox]) -> Route:
    """A curve from the foot of one box to the head of another, beside the boxes that stand between."""
    start, end = where[arrow.start], where[arrow.end]
    x0, y0 = start.x, start.y + start.height / 2
    x1, y1 = end.x, end.y - end.height / 2
    far = abs(y1 - y0)
    aside = ASIDE * far if far > 2 * LAYER and abs(x1 - x0) < NEAR else 0.0
    if arrow.again:
        aside = -aside
    bend = max((y1 - y0) / 2, LAYER / 2)
    return Route(
        arrow.start, arrow.end, ((x0, y0), (x0 + aside, y0 + bend), (x1 + aside, y1 - bend), (x1, y1)), arrow.again
    )
