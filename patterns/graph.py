"""The graph of parallel patterns: what is computed, and nothing about machines.

Everything is frozen. Shapes follow from names: a tensor's shape is the extents of its dims, in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Literal

from patterns.pipeline.hashed import hashed_once

if TYPE_CHECKING:
    import networkx as nx

Role = Literal["input", "weight", "state", "output", "intermediate"]
Argument = int | float | str
# What exists before a run.
GIVEN: tuple[Role, ...] = ("input", "weight", "state")


@hashed_once
@dataclass(frozen=True)
class Tensor:
    """A named array. `dims` are names of extents, outermost first.

    `block` names the Block that declares it, '' for the graph itself. A weight or state of a block exists
    `count` times (numpy: a leading axis of length count); everything else exists once. Later blocks of the same count
    may read it: each of their executions the copy of its own number.
    `shares` names the state whose storage this tensor is: the result of a scatter into a state.
    """

    name: str
    dims: tuple[str, ...]
    dtype: str
    role: Role
    block: str = ""
    shares: str = ""


@hashed_once
@dataclass(frozen=True)
class Node:
    """One pattern: `kind` is a file in kinds/, `fn` a function of that kind ('' where there is only one).

    `reads` is ordered and may name a tensor twice; `writes` is the one tensor made.
    `over`: dims summed or reduced. `along`: the dim that is indexed, scanned or moved.
    `arguments`: scalars of the function, sorted by name.
    """

    name: str
    kind: str
    fn: str
    reads: tuple[str, ...]
    writes: str
    over: tuple[str, ...] = ()
    along: str = ""
    arguments: tuple[tuple[str, Argument], ...] = ()

    def argument(self, name: str, default: Argument) -> Argument:
        """The scalar argument `name`, or `default`."""
        return dict(self.arguments).get(name, default)


@hashed_once
@dataclass(frozen=True)
class Block:
    """Nodes executed in order, `count` times.

    `carried` are pairs (inside, result): a body reads `inside` and writes `result`, which is `inside` of the next
    iteration. Before the first, `inside` is the tensor of that name written or declared before the block; after
    the last, `result` is visible to later blocks.
    """

    name: str
    count: int
    nodes: tuple[Node, ...] = field(repr=False)
    carried: tuple[tuple[str, str], ...] = ()


@hashed_once
@dataclass(frozen=True)
class Graph:
    """A whole computation: blocks in order, the tensors they read and write, the extents of all dims.

    formulas, requires: of the file it was read from, extents that are written as expressions of others, and conditions
    on extents. They say which extents may be changed together; no run asks for them.
    """

    name: str
    extents: tuple[tuple[str, int], ...]
    tensors: tuple[Tensor, ...] = field(repr=False)
    blocks: tuple[Block, ...]
    formulas: tuple[tuple[str, str], ...] = field(default=(), repr=False, compare=False)
    requires: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """Extent by dim name."""
        return dict(self.extents)

    @cached_property
    def tensor_named(self) -> Mapping[str, Tensor]:
        """Tensor by name."""
        return {tensor.name: tensor for tensor in self.tensors}

    @cached_property
    def block_named(self) -> Mapping[str, Block]:
        """Block by name."""
        return {block.name: block for block in self.blocks}

    def shape(self, tensor: str) -> tuple[int, ...]:
        """Extents of one copy of a tensor, outermost first (without the axis of a block's copies)."""
        return tuple(self.sizes[dim] for dim in self.tensor_named[tensor].dims)

    def elements(self, tensor: str) -> int:
        """Elements of one copy of a tensor."""
        return prod(self.shape(tensor))

    def copies(self, tensor: str) -> int:
        """How many times a tensor exists: its block's count for a block's weight or state, else 1."""
        found = self.tensor_named[tensor]
        repeated = found.block and found.role in ("weight", "state")
        return self.block_named[found.block].count if repeated else 1

    def nodes(self) -> Iterator[tuple[Block, Node]]:
        """Every node once, with its block, in order."""
        return ((block, node) for block in self.blocks for node in block.nodes)

    def readers(self, tensor: str) -> tuple[str, ...]:
        """Names of the nodes that read a tensor, in order, each once."""
        return self._readers.get(tensor, ())

    @cached_property
    def _readers(self) -> Mapping[str, tuple[str, ...]]:
        readers: dict[str, list[str]] = {}
        for _, node in self.nodes():
            for name in dict.fromkeys(node.reads):
                readers.setdefault(name, []).append(node.name)
        return {name: tuple(names) for name, names in readers.items()}

    @cached_property
    def results(self) -> frozenset[str]:
        """Tensors that a run is for: outputs, and what nobody reads and no block carries."""
        carried = {result for block in self.blocks for _, result in block.carried}
        made = (self.tensor_named[node.writes] for _, node in self.nodes())
        return frozenset(t.name for t in made if t.role == "output" or not (self.readers(t.name) or t.name in carried))

    def networkx(self) -> nx.MultiDiGraph[str]:
        """A view for graph algorithms: nodes are pattern names, edges carry `tensor` and `position`.

        Attributes of a node: kind, fn, block, count. An edge from the writer of a block's carried result to the
        readers of what it becomes has `carried=True`.
        """
        from patterns.view import networkx_view

        return networkx_view(self)
