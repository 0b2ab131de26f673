"""Where the nodes of a section stand in its loops, found once for all sections that have the same nodes in the same
nests, whatever the extents of their dims.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import lru_cache

from patterns.graph import Node
from rdu_model.tiles.loops import Loops, lay_out
from rdu_model.tiles.nests import Shape, without
from rdu_model.tiles.outside import Reading

# Ways to nest a section's nodes that are kept, each with a few dozen choices of loops of about 10 kB.
KEPT = 64


@dataclass(frozen=True)
class Layouts:
    """A section whose nodes nest in one way. found: by the keys of the nests that are left out, the others.
    numbers: of their parts, by content.
    """

    nodes: tuple[Node, ...]
    shape: Shape
    readings: tuple[Reading, ...]
    leaving: tuple[tuple[str, tuple[str, ...]], ...]
    found: dict[frozenset[int], Loops] = field(default_factory=dict, compare=False, repr=False)
    numbers: dict[Hashable, int] = field(default_factory=dict, compare=False, repr=False)

    def loops(self, single: frozenset[int]) -> Loops:
        """The section without these nests."""
        if single not in self.found:
            nodes = {node.name: node for node in self.nodes}
            shape = without(self.shape, single)
            self.found[single] = lay_out(nodes, shape, self.readings, dict(self.leaving), self.numbers)
        return self.found[single]


@lru_cache(maxsize=KEPT)
def shared(layouts: Layouts) -> Layouts:
    """Memo by nodes, nests and streams: the first that has the same."""
    return layouts
