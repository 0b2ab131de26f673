"""A graph file to a Graph: extents, what is used of other files, tensors, nodes; every mistake of the file at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from importlib.resources.abc import Traversable
from pathlib import Path

from patterns.errors import Mistake, UnknownName
from patterns.expression import ExpressionError, ExtentsError, resolve
from patterns.graph import Graph, Node, Tensor
from patterns.graph_file.assemble import assembled
from patterns.graph_file.compose import ASKED, Opened, need_room, of_use, used
from patterns.graph_file.conditions import broken
from patterns.graph_file.relations import relations
from patterns.graph_file.spec import GraphSpec, graph_model
from patterns.kind import has
from patterns.load import Document, load_file, load_text, validate
from patterns.members import without_lone_members

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
    return graph_watched(document, overrides, set())


def graph_watched(document: Document, overrides: Mapping[str, str], asked: set[str]) -> Graph:
    """The same; into `asked` goes each extent whose size all but the graph's extents depend on."""
    graph = _whole(document, overrides, Opened(), asked)
    asked.update(node.along for block in graph.blocks for node in block.nodes if has(node, "communicates"))
    return without_lone_members(graph)


def read_with_warnings(path: Path | Traversable) -> tuple[Graph, tuple[Mistake, ...]]:
    """The graph in a file, and what in it is legal but suspicious. Raises as `read_graph` does."""
    from patterns.graph_file.suspicion import suspicions

    document = load_file(path)
    graph = _whole(document, NONE, Opened(), set())
    return without_lone_members(graph), suspicions(graph, validate(graph_model(), document), document)


def graph_in(file: Path | Traversable, overrides: Mapping[str, str], opened: Opened) -> Graph:
    """The graph in a file that another one uses, with every node that is written in it. Raises as `read_graph` does."""
    return _whole(load_file(file), overrides, opened, set())


def _whole(document: Document, overrides: Mapping[str, str], opened: Opened, asked: set[str]) -> Graph:
    opened = need_room(document, opened)
    spec = validate(graph_model(), document)
    mistakes: list[Mistake] = []
    sizes = sizes_of(spec, document, overrides, mistakes)
    if not mistakes:
        # Shapes of extents that do not go together only repeat what is wrong with these.
        document.refuse(not_met(spec, document, sizes))
    pieces = used(spec, document, sizes, overrides, opened, mistakes)
    graph = assembled(spec, document, sizes, pieces, mistakes, asked)
    document.refuse(mistakes)
    formulas, requires = relations(spec, as_written(spec, overrides), pieces, graph.sizes)
    return _interned(replace(graph, formulas=formulas, requires=requires))


def _interned(graph: Graph) -> Graph:
    """The graph with the nodes and tensors of graphs before that are equal: memos tell those apart at once."""
    blocks = tuple(replace(block, nodes=tuple(map(_same_node, block.nodes))) for block in graph.blocks)
    return replace(graph, blocks=blocks, tensors=tuple(map(_same_tensor, graph.tensors)))


@lru_cache(maxsize=16384)
def _same_node(node: Node) -> Node:
    return node


@lru_cache(maxsize=16384)
def _same_tensor(tensor: Tensor) -> Tensor:
    return tensor


def as_written(spec: GraphSpec, overrides: Mapping[str, str]) -> dict[str, str]:
    """What each of our extents is to be, as text."""
    own = {name: text for name, text in overrides.items() if of_use(spec, name) is None}
    return {name: str(text) for name, text in {**spec.extents, **own}.items()}


def not_met(spec: GraphSpec, document: Document, sizes: Mapping[str, int]) -> list[Mistake]:
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


def sizes_of(
    spec: GraphSpec, document: Document, overrides: Mapping[str, str], mistakes: list[Mistake]
) -> dict[str, int]:
    """Extent by name. After a mistake it is empty of what could not be computed."""
    written = as_written(spec, overrides)
    for name in written:
        if name not in spec.extents:
            raise UnknownName("extent", name, spec.extents)
    try:
        return resolve(written)
    except ExtentsError as error:
        for wrong in error.mistakes:
            if wrong.name in overrides:
                mistakes.append(Mistake(f"{ASKED}{wrong.name}", 1, wrong.offset + 1, "", wrong.message))
            else:
                mistakes.append(document.inside(("extents", wrong.name), wrong.offset, wrong.message))
        return error.resolved
