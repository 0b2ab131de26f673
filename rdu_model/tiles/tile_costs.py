"""What tiles of nodes take, by their extents: found once for all ways in which nodes may nest, and for all graphs that
have the same node of the same tensors with the same extents.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from patterns.graph import Node, Tensor
from rdu_model.ask import Asked
from rdu_model.collective import exchange
from rdu_model.extents import named_extents
from rdu_model.machine import Machine, grid_columns, grid_rows
from rdu_model.price import Grid, cycles, grid
from rdu_model.tiles.picking import Pick, pick

# Bytes of each read of a node, and of its result.
Touched = tuple[tuple[int, ...], int]

# Nodes that are kept; a decoder has about forty, of which ten change with its context. One takes a few kB.
KEPT = 1024


@dataclass(frozen=True)
class NodeCosts:
    """A node, and what its tiles were found to take, by the extents of its dims, and its PCUs."""

    asked: Asked
    machine: Machine
    grids: dict[Hashable, Grid] = field(default_factory=dict)
    took: dict[tuple[Hashable, int], int] = field(default_factory=dict)
    moved: dict[Hashable, Touched] = field(default_factory=dict)


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
    def extents(self) -> Mapping[str, Pick]:
        """Of the dims that each node knows, from the extents of all."""
        return {name: pick(asked.dims) for name, asked in self.nodes.items()}

    @cached_property
    def way_cycles(self) -> int:
        """Cycles of a way as long as two places on the fabric are apart on average."""
        return self.machine.hop_cycles * (grid_rows(self.machine) + grid_columns(self.machine)) // 3

    @cached_property
    def latencies(self) -> Mapping[str, int]:
        """Cycles from the end of each node's work until its result is there: on the way, and between sockets."""
        found = dict.fromkeys(self.nodes, self.way_cycles)
        for name, asked in self.nodes.items():
            if asked.unit_class == "network":
                found[name] += exchange(asked, asked.graph.sizes, self.machine).latency_cycles
        return found

    def stage_cycles(self, name: str, sizes: Mapping[str, int], pcus: int, extents: Hashable) -> int:
        """Cycles of a node on one tile. extents: the sizes that it knows."""
        asked = self.nodes[name]
        if asked.unit_class == "network":
            return exchange(asked, sizes, self.machine).cycles
        if asked.unit_class == "memory":
            return self.machine.step_cycles
        known, key = self.known[name], (extents, pcus)
        found = known.took.get(key)
        if found is None:
            if extents not in known.grids:
                known.grids[extents] = grid(asked, sizes, self.machine)
            found = known.took[key] = self.machine.step_cycles + cycles(known.grids[extents], pcus)
        return found

    def touched(self, name: str, sizes: Mapping[str, int]) -> Touched:
        """Bytes of each read and of the result of a node on one tile."""
        moved, extents = self.known[name].moved, self.extents[name](sizes)
        found = moved.get(extents)
        if found is None:
            found = moved[extents] = self.nodes[name].touched(sizes)
        return found
