"""A graph file to a Graph: extents, tensors, then nodes from top to bottom, every mistake of the file at once."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources.abc import Traversable
from pathlib import Path

from patterns.assemble import assembled
from patterns.conditions import broken
from patterns.errors import Mistake, UnknownName
from patterns.expression import ExpressionError, ExtentsError, resolve
from patterns.graph import Graph
from patterns.load import Document, load_file, load_text, validate
from patterns.members import without_lone_members
from patterns.spec import GraphSpec, graph_model

NONE: Mapping[str, str] = {}


def read_graph(path: str | Path | Traversable, overrides: Mapping[str, str] = NONE) -> Graph:
    """The graph in a file. overrides: extents by name, as numbers or expressions.

    Raises SpecError with every mistake, UnknownName for an override of no extent, UserError if there is no such file.
    """
    return graph_of(load_file(Path(path) if isinstance(path, str) else path), overrides)


def parse_graph(text: str, file: str = "graph.yaml", overrides: Mapping[str, str] = NONE) -> Graph:
    """The graph in a text; `file` is its name in messages. Raises as `read_graph` does."""
    return graph_of(load_text(text, file), overrides)


def graph_of(document: Document, overrides: Mapping[str, str] = NONE) -> Graph:
    """The graph that a document describes. Raises as `read_graph` does."""
    spec = validate(graph_model(), document)
    mistakes: list[Mistake] = []
    sizes = _sizes(spec, document, overrides, mistakes)
    if not mistakes:
        # Shapes of extents that do not go together only repeat what is wrong with these.
        document.refuse(_not_met(spec, document, sizes))
    graph = assembled(spec, document, sizes, mistakes)
    document.refuse(mistakes)
    return without_lone_members(graph)


def _not_met(spec: GraphSpec, document: Document, sizes: Mapping[str, int]) -> list[Mistake]:
    """Every condition that the extents do not meet."""
    mistakes = []
    for number, condition in enumerate(spec.requires):
        try:
            message = broken(condition, sizes)
        except ExpressionError as error:
            mistakes.append(document.inside(("requires", number), error.offset, str(error)))
            continue
        if message:
            mistakes.append(document.at(("requires", number), message))
    return mistakes


def _sizes(
    spec: GraphSpec, document: Document, overrides: Mapping[str, str], mistakes: list[Mistake]
) -> dict[str, int]:
    """Extent by name. After a mistake it is empty of what could not be computed."""
    for name in overrides:
        if name not in spec.extents:
            raise UnknownName("extent", name, spec.extents)
    try:
        return resolve({**spec.extents, **overrides})
    except ExtentsError as error:
        for wrong in error.mistakes:
            if wrong.name in overrides:
                mistakes.append(Mistake(f"--set {wrong.name}", 1, wrong.offset + 1, "", wrong.message))
            else:
                mistakes.append(document.inside(("extents", wrong.name), wrong.offset, wrong.message))
        return error.resolved
