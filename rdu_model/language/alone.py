"""A metapipe with a graph of its own nodes alone, in one form whatever graph it was compiled from.

What others make becomes an input, what others read an output; a looped block's weights keep their copies. Names follow
from those of the nodes, extents and tensors are sorted: two metapipes that do the same are equal then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from patterns.errors import UserError
from patterns.graph import Block, Graph, Node, Role, Tensor
from patterns.kind import has
from patterns.move import move_of
from rdu_model.pipe import SOCKETS, Carry, Item, Load, Metapipe, Pipe, Store, placed


def alone(metapipe: Metapipe) -> Metapipe:
    """The metapipe in that form. Raises UserError for what the language cannot say."""
    if metapipe.spills:
        raise UserError(f"metapipe {metapipe.name!r} hands results on through off-chip memory: nobody can write that")
    wanted = set(metapipe.nodes)
    by_name = {node.name: node for node in metapipe.of_block.nodes if node.name in wanted}
    nodes = tuple(by_name[name] for name in metapipe.nodes)
    stored = {found.leaf.tensor for found in placed(metapipe.body) if isinstance(found.leaf, Store)}
    stored |= {carry.tensor for carry in metapipe.carries if carry.stored}
    lonely = _Alone(metapipe, nodes, frozenset(stored), _names(metapipe.graph, nodes, stored))
    return lonely.metapipe_alone()


def _names(graph: Graph, nodes: tuple[Node, ...], stored: Iterable[str]) -> dict[str, str]:
    """New names of tensors: of a state its own, of what leaves its own, of others that of the node that makes them."""
    made = {node.writes for node in nodes}
    outside = [name for node in nodes for name in node.reads if name not in made]
    names = {name: graph.tensor_named[name].shares or name for name in outside}
    names |= {name: name for name in stored if name in made and not graph.tensor_named[name].shares}
    taken = set(names.values())
    for node in nodes:
        if node.writes not in names:
            number, name = 2, node.name
            while name in taken:
                name, number = f"{node.name}_{number}", number + 1
            names[node.writes] = name
            taken.add(name)
    return names


@dataclass(frozen=True)
class _Alone:
    metapipe: Metapipe
    nodes: tuple[Node, ...]
    stored: frozenset[str]
    names: Mapping[str, str]

    def metapipe_alone(self) -> Metapipe:
        """All parts, renamed."""
        one = self.metapipe
        order = {found.name: number for number, found in enumerate(placed(one.body))}
        carries = tuple(self._carry(carry, order) for carry in one.carries)
        nodes = tuple(self._node(node) for node in self.nodes)
        carried = tuple((carry.name.removeprefix("carry "), carry.tensor) for carry in carries)
        block = Block(one.name, one.iterations, nodes, tuple(sorted(carried)))
        tensors = tuple(sorted(self._tensors(), key=lambda tensor: tensor.name))
        graph = Graph(one.name, tuple(sorted(self._extents(nodes, tensors).items())), tensors, (block,))
        depths = tuple(sorted(one.depths))
        carries = tuple(sorted(carries, key=lambda carry: carry.name))
        body = self._body(one.body)
        return Metapipe(one.name, graph, one.name, one.nodes, body, one.iterations, carries, depths=depths)

    def _node(self, node: Node) -> Node:
        reads, writes = tuple(self.names[read] for read in node.reads), self.names[node.writes]
        along = SOCKETS if has(node, "communicates") else node.along
        arguments = dict(node.arguments)
        if has(node, "moves") and "order" in move_of(node).TAKES:
            arguments["order"] = " ".join(self.metapipe.graph.tensor_named[node.writes].dims)
        return replace(node, reads=reads, writes=writes, along=along, arguments=tuple(sorted(arguments.items())))

    def _tensors(self) -> Iterable[Tensor]:
        graph, looped = self.metapipe.graph, self.metapipe.iterations > 1
        made = {node.writes for node in self.nodes}
        new: dict[str, Tensor] = {}
        for name, renamed in self.names.items():
            tensor = graph.tensor_named[name]
            shares = self.names.get(tensor.shares, tensor.shares)
            if name in made:
                role: Role = "output" if name in self.stored and not tensor.shares else "intermediate"
                new[renamed] = Tensor(renamed, tensor.dims, tensor.dtype, role, "", shares)
                continue
            own = graph.tensor_named[shares or name]
            role = own.role if own.role in ("weight", "state") else "input"
            block = self.metapipe.name if looped and own.block and role != "input" else ""
            new[renamed] = Tensor(renamed, own.dims, own.dtype, role, block)
        return new.values()

    def _extents(self, nodes: tuple[Node, ...], tensors: tuple[Tensor, ...]) -> dict[str, int]:
        sizes = self.metapipe.graph.sizes
        found = {dim: sizes[dim] for tensor in tensors for dim in tensor.dims}
        members = {sizes[node.along] for node in self.nodes if has(node, "communicates")}
        if len(members) > 1:
            raise UserError(f"metapipe {self.metapipe.name!r} sums over groups of {sorted(members)} sockets")
        return found | dict.fromkeys((SOCKETS,) if members else (), max(members, default=1))

    def _carry(self, carry: Carry, order: Mapping[str, int]) -> Carry:
        readers = tuple(sorted(carry.readers, key=order.__getitem__))
        name = f"carry {self.names[carry.name.removeprefix('carry ')]}"
        return replace(carry, name=name, tensor=self.names[carry.tensor], readers=readers)

    def _body(self, body: tuple[Item, ...]) -> tuple[Item, ...]:
        return tuple(self._item(item) for item in body)

    def _item(self, item: Item) -> Item:
        if isinstance(item, Pipe):
            extent = min(item.extent, self.metapipe.sizes[item.dim])
            return replace(item, extent=extent, body=self._body(item.body))
        if isinstance(item, Load):
            return replace(item, tensor=self.names[item.tensor])
        if isinstance(item, Store):
            name = self.names[item.tensor]
            return replace(item, name=f"store {name}", tensor=name)
        return item
