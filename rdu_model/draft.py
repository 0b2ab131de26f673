"""A graph while it is being written by the language: regions and nodes are added, and `graph` freezes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from patterns.errors import UserError
from patterns.graph import Argument, Block, Graph, Node, Role, Tensor
from patterns.kind import WrongShape, kind_named

Arguments = tuple[tuple[str, Argument], ...]


@dataclass
class Draft:
    """stored: the region that a node's result is stored in, by the result's name."""

    extents: dict[str, int] = field(default_factory=dict)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    stored: dict[str, str] = field(default_factory=dict)

    def region(self, name: str, dims: str, shape: Sequence[int], dtype: str, role: Role) -> Tensor:
        """Declare an array in off-chip memory. Raises UserError."""
        names = tuple(dims.split())
        if name in self.tensors:
            raise UserError(f"region {name} is declared twice")
        if len(names) != len(shape):
            raise UserError(f"region {name}: {len(names)} dims, and {len(shape)} extents")
        for dim, extent in zip(names, shape, strict=True):
            if extent < 1:
                raise UserError(f"region {name}: dim {dim!r} has extent {extent}")
            if self.extents.setdefault(dim, extent) != extent:
                raise UserError(f"region {name}: dim {dim!r} has extent {extent}, in another {self.extents[dim]}")
        self.tensors[name] = Tensor(name, names, dtype, role)
        return self.tensors[name]

    def node(
        self,
        kind: str,
        fn: str,
        reads: tuple[str, ...],
        name: str,
        over: tuple[str, ...] = (),
        arguments: Arguments = (),
        along: str = "",
    ) -> Node:
        """Add a node that reads these tensors and writes one of its own name. Raises UserError."""
        name = self.unused(name)
        node = Node(name, kind, fn, reads, name, over, along, arguments)
        operands = [self.tensors[read] for read in reads]
        found = kind_named(kind)
        try:
            node = found.infer(node, operands, None, self.extents)
            self.tensors[name] = found.output(node, operands, None)
        except WrongShape as error:
            raise UserError(f"{name}: {error}") from error
        self.nodes.append(node)
        return node

    def store(self, result: str, region: str) -> None:
        """Say where a node's result goes. Raises UserError."""
        made, to = self.tensors[result], self.tensors[region]
        if result in self.stored or region in self.stored.values():
            twice = self.stored.get(result, region)
            raise UserError(f"store_tile in {region}: something is stored in {twice} already")
        if made.dims != to.dims:
            raise UserError(
                f"store_tile: {region} is [{', '.join(to.dims)}], the tile [{', '.join(made.dims)}]"
                + (f"; buffer(tile, {' '.join(to.dims)!r}) gives that order" if set(made.dims) == set(to.dims) else "")
            )
        self.stored[result] = region

    def unused(self, name: str) -> str:
        """The name, with a number if it is taken."""
        number, found = 2, name
        while found in self.tensors:
            found, number = f"{name}_{number}", number + 1
        return found

    def graph(self, name: str) -> Graph:
        """The graph, of one block; results that are stored have the names of their regions. Raises UserError."""
        empty = [t.name for t in self.tensors.values() if t.role == "output" and t.name not in self.stored.values()]
        if empty:
            raise UserError(f"nothing is stored in {', '.join(empty)}")
        nodes = tuple(
            replace(
                node,
                reads=tuple(self.stored.get(read, read) for read in node.reads),
                writes=self.stored.get(node.writes, node.writes),
            )
            for node in self.nodes
        )
        tensors = tuple(tensor for tensor in self.tensors.values() if tensor.name not in self.stored)
        return Graph(name, tuple(self.extents.items()), tensors, (Block(name, 1, nodes),))
