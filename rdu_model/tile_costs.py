"""What tiles of nodes take, by their extents: found once for all ways in which nodes may nest, and for all graphs that
have the same node of the same tensors with the same extents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from patterns.graph import Node, Tensor
from rdu_model.ask import Asked
from rdu_model.collective import exchange
from rdu_model.extents import named_extents
from rdu_model.machine import Machine
from rdu_model.price import Grid, cycles, grid

# Bytes of each read of a node, and of its result.
Touched = tuple[tuple[int, ...], int]
Extents = tuple[int, ...]

# Nodes that are kept; a decoder has about forty, of which ten change with its context. One takes a few kB.
KEPT = 1024


@dataclass(frozen=True)
class NodeCosts:
    """A node, and what its tiles were found to take, by the extents of its dims."""

    asked: Asked
    machine: Machine
    grids: dict[Extents, Grid] = field(default_factory=dict)
    moved: dict[Extents, Touched] = field(default_factory=dict)


@dataclass(frozen=True)
class NodeContent:
    """All that a node's costs follow from: itself, its tensors, the extents of the dims that they and it name; `asked`
    is one that has them.
    """

    machine: Machine
    node: Node
    tensors: tuple[Tensor, ...]
    extents: tuple[tuple[str, int], ...]
    asked: Asked = field(compare=False, repr=False)


@lru_cache(maxsize=KEPT)
def _costs(content: NodeContent) -> NodeCosts:
    """Memo by the content of a node."""
    return NodeCosts(content.asked, content.machine)


def costs_of(asked: Asked, machine: Machine) -> NodeCosts:
    """The costs of a node, which others with the same content share.

    A node that steps cut by what others need, or that stands for what others look up, follows from these, too: it has
    its own.
    """
    if asked.follows or asked.lookup:
        return NodeCosts(asked, machine)
    graph, node = asked.graph, asked.node
    tensors = tuple([graph.tensor_named[name] for name in (*node.reads, node.writes)])
    return _costs(NodeContent(machine, node, tensors, named_extents(graph, (node,), tensors), asked))


@dataclass(frozen=True)
class TileCosts:
    """What tiles of a section's nodes take."""

    nodes: Mapping[str, Asked]
    machine: Machine

    @cached_property
    def known(self) -> Mapping[str, NodeCosts]:
        """What is known of each node."""
        return {name: costs_of(asked, self.machine) for name, asked in self.nodes.items()}

    @cached_property
    def dims(self) -> Mapping[str, tuple[str, ...]]:
        """The dims that each node knows."""
        return {name: asked.dims for name, asked in self.nodes.items()}

    def extents(self, name: str, sizes: Mapping[str, int]) -> Extents:
        """Of the dims that a node knows."""
        return tuple([sizes[dim] for dim in self.dims[name]])

    def stage_cycles(self, name: str, sizes: Mapping[str, int], pcus: int) -> int:
        """Cycles of a node on one tile."""
        asked = self.nodes[name]
        if asked.unit_class == "network":
            return exchange(asked, sizes, self.machine).cycles
        if asked.unit_class == "memory":
            return self.machine.step_cycles
        grids, key = self.known[name].grids, self.extents(name, sizes)
        if key not in grids:
            grids[key] = grid(asked, sizes, self.machine)
        return self.machine.step_cycles + cycles(grids[key], pcus)

    def touched(self, name: str, sizes: Mapping[str, int]) -> Touched:
        """Bytes of each read and of the result of a node on one tile."""
        moved = self.known[name].moved
        key = tuple([sizes[dim] for dim in self.dims[name]])
        if key not in moved:
            moved[key] = self.nodes[name].touched(sizes)
        return moved[key]
