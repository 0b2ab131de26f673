"""svg: a picture, laid out by Graphviz; it needs the package pygraphviz (extra `graph`)."""

from __future__ import annotations

from experiments.diagram import Diagram
from experiments.drawings import dot
from patterns.errors import UserError


def drawn(diagram: Diagram) -> str:
    """The drawing as SVG. Raises UserError where pygraphviz is not installed."""
    return image(diagram, "svg").decode("utf-8")


def image(diagram: Diagram, form: str) -> bytes:
    """The drawing in any format that Graphviz writes. Raises UserError where pygraphviz is not installed."""
    try:
        from pygraphviz import AGraph  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        what = "a picture is laid out by pygraphviz, which is not installed: pip install 'patternloom[graph]'"
        raise UserError(f"{what}; --format dot and --format mermaid are text and need nothing") from None
    content: bytes = AGraph(string=dot.drawn(diagram)).draw(format=form, prog="dot")
    return content
