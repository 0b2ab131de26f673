"""One document read for many extents: a graph is not made again where nothing changed that making it looked at.

Names, dims and nodes stay as they are when a context grows: only a few checks look at sizes. Which sizes those were is
noted, so a graph of others differs from one made before in nothing but its extents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from patterns.errors import Mistake
from patterns.graph import Graph
from patterns.graph_file.relations import relations
from patterns.graph_file.spec import BlockSpec, GraphSpec, blocks_of, graph_model
from patterns.load import Document, validate
from patterns.read import as_written, graph_watched, not_met, sizes_of

# Graphs of a document that are kept: one for each batch and number of members of a sweep.
KEPT = 64


@dataclass(frozen=True)
class _Made:
    """A graph, and the sizes that were looked at when it was made."""

    graph: Graph
    asked: tuple[tuple[str, int], ...]


class Rereading:
    """A document, and the graphs that were made of it. Each answer is what `graph_of` gives."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._made: list[_Made] = []

    def graph(self, overrides: Mapping[str, str]) -> Graph:
        """The graph with these extents. Raises as `read_graph` does."""
        found = self._as_before(overrides) if self._made else None
        if found is not None:
            return found
        asked: set[str] = set()
        graph = graph_watched(self._document, overrides, asked)
        if self._alone:
            sizes = tuple((name, graph.sizes[name]) for name in sorted(asked))
            self._made = [_Made(graph, sizes), *self._made[: KEPT - 1]]
        return graph

    @cached_property
    def _spec(self) -> GraphSpec:
        return validate(graph_model(), self._document)

    @cached_property
    def _alone(self) -> bool:
        """Whether nothing is used of other files, which would have to be looked at too."""
        return all(isinstance(entry, BlockSpec) for _, _, entry in blocks_of(self._spec))

    def _as_before(self, overrides: Mapping[str, str]) -> Graph | None:
        """A graph made before, with its extents replaced. None where there is none, or there is a mistake to tell."""
        spec, mistakes = self._spec, list[Mistake]()
        sizes = sizes_of(spec, self._document, overrides, mistakes)
        if mistakes or not_met(spec, self._document, sizes):
            return None
        for made in self._made:
            if all(sizes[name] == size for name, size in made.asked):
                formulas, requires = relations(spec, as_written(spec, overrides), {}, sizes)
                return replace(made.graph, extents=tuple(sizes.items()), formulas=formulas, requires=requires)
        return None
