"""A metapipe that a person wrote and one section cannot hold: cut between its stages, each part with the same pipes.

What crosses a cut is stored where it is made and loaded where it is read; fixed PCUs, row-parallel streams, depths and
drained pipes stay as they are written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from patterns.graph import Node
from rdu_model.ask import Asked, ask_all
from rdu_model.connect import connect
from rdu_model.cuts.calls import section_cycles
from rdu_model.cuts.cutting import FitsNowhere, Part, Search
from rdu_model.cuts.least import Least
from rdu_model.cuts.order import lines
from rdu_model.machine import Machine
from rdu_model.pipe import Item, Load, Metapipe, Pipe, Reorder, Stage, nodes_of, pipes_in, placed
from rdu_model.section import Section
from rdu_model.sections import spread_out
from rdu_model.shortage import Shortage, refuse
from rdu_model.tiles.nests import Nest, Shape


def cut_written(metapipe: Metapipe, machine: Machine, members: int, call_cycles: int) -> tuple[Part, ...]:
    """The sections of the cheapest way to cut, in the order in which its stages are written.

    Raises DoesNotFit for a stage that fits no section.
    """
    graph = metapipe.graph
    asked = ask_all(graph, metapipe.of_block.nodes)
    written = _Written(metapipe, asked)
    nodes = tuple(node for node in metapipe.of_block.nodes if node.name in metapipe.nodes)

    def built(some: tuple[Node, ...]) -> Section | Shortage:
        return spread_out(written.part(tuple(node.name for node in some)), machine, members)

    line = lines(graph, nodes)[0]
    try:
        return Search(line, Least(graph, machine, nodes, asked), call_cycles, built, section_cycles).best()
    except FitsNowhere as error:
        where = f"alone in a section of {machine.name}, in metapipe {metapipe.name!r}"
        raise refuse(graph, error.lack, where, error.tried) from None


@dataclass(frozen=True)
class _Written:
    """tiles, pipes: by key, in the order in which pipes are found."""

    metapipe: Metapipe
    asked: Mapping[str, Asked]
    tiles: dict[int, int] = field(default_factory=dict)

    def part(self, names: tuple[str, ...]) -> Metapipe:
        """The stages of these names in the pipes that are around them."""
        whole = self.metapipe
        self.tiles.clear()
        shape = self._shape(whole.body, frozenset(names))
        asked = {name: self.asked[name] for name in whole.nodes if name in names}
        name = f"{whole.name}.{names[0]}"
        made = connect(name, whole.graph, whole.of_block, asked, shape, self.tiles, 1)
        body = tuple(self._as_written(item) for item in made.body)
        inside = {found.name for found in placed(body)}
        return replace(made, body=body, depths=tuple(pair for pair in whole.depths if pair[0] in inside))

    def _shape(self, body: tuple[Item, ...], names: frozenset[str]) -> Shape:
        found: list[str | Nest] = []
        for item in body:
            if isinstance(item, Pipe):
                key = len(self.tiles)
                self.tiles[key] = item.extent
                inside = self._shape(item.body, names)
                found += [Nest(key, item.dim, inside)] if inside else []
            elif isinstance(item, Stage | Reorder) and item.name in names:
                found.append(item.name)
        return tuple(found)

    def _as_written(self, item: Item) -> Item:
        """With what a person said of it."""
        everything = [found.leaf for found in placed(self.metapipe.body)]
        if isinstance(item, Pipe):
            same = [pipe for pipe in pipes_in(self.metapipe.body) if (pipe.dim, pipe.extent) == (item.dim, item.extent)]
            drain = any(pipe.drain for pipe in same if set(nodes_of(item.body)) <= set(nodes_of(pipe.body)))
            return replace(item, body=tuple(self._as_written(one) for one in item.body), drain=drain)
        if isinstance(item, Stage):
            pcus = next(leaf.pcus for leaf in everything if isinstance(leaf, Stage) and leaf.name == item.name)
            return replace(item, pcus=pcus)
        if isinstance(item, Load):
            rows = [leaf.row_par for leaf in everything if isinstance(leaf, Load) and leaf.tensor == item.tensor]
            return replace(item, row_par=max(rows, default=0))
        return item
