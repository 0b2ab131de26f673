"""The graph as SVG: boxes that a script colours by the call that they are in, and that tell of themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from experiments.diagram import diagram_of
from experiments.page.layout import LINE_POINTS, LINES, Drawing, PlacedBox, Route, drawing_of
from experiments.page.render import environment, markup

if TYPE_CHECKING:
    from markupsafe import Markup

    from patterns.graph import Graph

NODE = "node "
MARGIN = 8


def graph_markup(graph: Graph) -> Markup:
    """The drawing. Boxes of patterns have their node's name as data-node."""
    drawing = drawing_of(diagram_of(graph))
    macros = environment().get_template("graph.html").module
    return markup(str(macros.drawing(drawn(drawing), graph.name)))  # type: ignore[attr-defined]


def drawn(drawing: Drawing) -> dict[str, Any]:
    """What the template writes: whole tenths of points, and texts."""
    return {
        "width": round(drawing.width + 2 * MARGIN),
        "height": round(drawing.height + 2 * MARGIN),
        "frames": [
            {
                "title": frame.title,
                "x": round(frame.x + MARGIN, 1),
                "y": round(frame.y + MARGIN, 1),
                "width": round(frame.width, 1),
                "height": round(frame.height, 1),
            }
            for frame in drawing.frames
        ],
        "routes": [{"path": path(route), "again": route.again} for route in drawing.routes],
        "boxes": [box_data(placed) for placed in drawing.boxes],
    }


def box_data(placed: PlacedBox) -> dict[str, Any]:
    """A box: where it stands, its first lines with the height of each, all of them as one text."""
    box = placed.box
    lines = box.lines[:LINES]
    first = placed.y + MARGIN - (len(lines) - 1) / 2 * LINE_POINTS
    return {
        "node": box.key.removeprefix(NODE) if box.key.startswith(NODE) else "",
        "title": "; ".join(box.lines),
        "shape": box.look.shape,
        "x": round(placed.x - placed.width / 2 + MARGIN, 1),
        "y": round(placed.y - placed.height / 2 + MARGIN, 1),
        "width": round(placed.width, 1),
        "height": round(placed.height, 1),
        "centre": round(placed.x + MARGIN, 1),
        "lines": [(line, round(first + number * LINE_POINTS, 1)) for number, line in enumerate(lines)],
    }


def path(route: Route) -> str:
    """The way of an arrow as an SVG path."""
    points = [f"{x + MARGIN:.1f},{y + MARGIN:.1f}" for x, y in route.points]
    return f"M{points[0]}C{' '.join(points[1:])}"
