"""Which nodes may become one kernel. Every policy asks here, and every refusal has its reason in words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from gpu_model.asked import Ask
from gpu_model.joining.connected import connected
from gpu_model.joining.decisions import Answers, Facts
from gpu_model.joining.questions import why_no_room, why_not_in_parts
from gpu_model.tiles.space import Space
from gpu_model.tiles.spaces import spaces_of
from patterns.graph import Block, Graph, Node
from patterns.kind import has
from patterns.once import computed_once
from patterns.order import waits_for
from patterns.pipeline.hashed import hashed_once
from patterns.plan import Refusal


@hashed_once
@dataclass(frozen=True)
class Group:
    """Nodes of a block that become one kernel, in the order of the block, and by what rule.

    online: reduced dims that are taken in parts although their result is read together with them again: what was
    added up so far is rescaled (an attention kernel). inside: tensors that nobody else needs.
    """

    nodes: tuple[Node, ...]
    reason: str
    online: tuple[str, ...] = ()
    inside: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the nodes."""
        return tuple(node.name for node in self.nodes)


@lru_cache(maxsize=512)
def group_spaces(graph: Graph, group: Group) -> tuple[Space, ...]:
    """The spaces of a group. Memo: of each kernel it is asked what it moves, and then how it is laid out."""
    return spaces_of(graph, group.nodes, group.inside, group.online)


@dataclass(frozen=True)
class Edges:
    """Who makes and who reads what in a block, and where each node is in it.

    elsewhere: tensors that are needed outside the block, or by its next execution, or that are states. over: for each
    node those that write over a state which it reads as it was, and so come after it.
    """

    block: Block
    elsewhere: frozenset[str]
    over: Mapping[str, tuple[str, ...]]

    @computed_once
    def position(self) -> Mapping[str, int]:
        """Place of each node in the block."""
        return {node.name: at for at, node in enumerate(self.block.nodes)}

    @computed_once
    def maker(self) -> Mapping[str, str]:
        """Name of the node that makes a tensor."""
        return {node.writes: node.name for node in self.block.nodes}

    @computed_once
    def readers(self) -> Mapping[str, tuple[str, ...]]:
        """Names of the nodes that read a tensor, each once."""
        readers: dict[str, list[str]] = {}
        for node in self.block.nodes:
            for name in dict.fromkeys(node.reads):
                readers.setdefault(name, []).append(node.name)
        return {name: tuple(names) for name, names in readers.items()}

    def inside(self, nodes: Sequence[Node]) -> frozenset[str]:
        """Tensors that these nodes make and nobody else needs."""
        names = {node.name for node in nodes}
        made = (node.writes for node in nodes if node.writes not in self.elsewhere)
        return frozenset(tensor for tensor in made if names.issuperset(self.readers.get(tensor, ())))


@dataclass(frozen=True)
class Grouping:
    """A block's nodes in groups, by name, and the joins that were refused. A policy makes one from another.

    answers: to what depends on extents or the machine. graph: of a policy BY_STRUCTURE the structure alone.
    """

    graph: Graph
    ask: Ask
    edges: Edges
    of: Mapping[str, Group]
    answers: Answers
    refused: tuple[Refusal, ...] = ()

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The block's nodes."""
        return self.edges.block.nodes

    def groups(self) -> tuple[Group, ...]:
        """The groups by their first nodes."""
        return tuple({id(group): group for group in self.of.values()}.values())

    def maker(self, tensor: str) -> Group | None:
        """The group in this block that makes a tensor."""
        return self.of[self.edges.maker[tensor]] if tensor in self.edges.maker else None

    def readers(self, tensor: str) -> tuple[Group, ...]:
        """The groups in this block that read a tensor."""
        found = (self.of[name] for name in self.edges.readers.get(tensor, ()))
        return tuple({id(group): group for group in found}.values())

    def join(
        self,
        parts: Iterable[Group],
        reason: str,
        *,
        online: tuple[str, ...] = (),
        hides: Iterable[str] = (),
        apart: bool = False,
    ) -> Grouping:
        """With the parts as one group; with a refusal more where that is not legal.

        hides: tensors that nobody outside may need. apart: whether no part may need another.
        """
        distinct = self._current(parts)
        if len(distinct) == 1:
            return self
        group = self.together(distinct, reason, online)
        return self.settled(group, (self._handed_on(distinct) if apart else "") or self.refusal(group, hides))

    def _current(self, parts: Iterable[Group]) -> tuple[Group, ...]:
        """The groups that hold the parts' nodes now: a part may have been joined with another."""
        current = (self.of[node.name] for part in parts for node in part.nodes)
        return tuple({id(part): part for part in current}.values())

    def together(self, parts: Iterable[Group], reason: str, online: tuple[str, ...] = ()) -> Group:
        """The parts as one group, legal or not."""
        return self.made_of((node for part in self._current(parts) for node in part.nodes), reason, online)

    def made_of(self, nodes: Iterable[Node], reason: str, online: tuple[str, ...] = ()) -> Group:
        """Nodes of the block as one group, legal or not."""
        position = self.edges.position
        found = tuple(sorted(nodes, key=lambda node: position[node.name]))
        return Group(found, reason, online, self.edges.inside(found))

    def settled(self, group: Group, why: str) -> Grouping:
        """With the group; with a refusal more where there is a reason against it."""
        if why:
            return replace(self, refused=(*self.refused, Refusal(group.names, why)))
        return replace(self, of={**self.of, **dict.fromkeys(group.names, group)})

    def _handed_on(self, parts: Sequence[Group]) -> str:
        """Which part needs another, '' if none does directly (a longer way is a path that comes back)."""
        inside = {id(part) for part in parts}
        for part in parts:
            for node in part.nodes:
                for name in node.reads:
                    maker = self.maker(name)
                    if maker is not None and maker is not part and id(maker) in inside:
                        return f"{node.name} needs {name}"
        return ""

    def refusal(self, group: Group, hides: Iterable[str] = ()) -> str:
        """Why a group is not legal, '' if it is. hides: tensors that must not be needed outside."""
        seen = sorted(set(hides) - group.inside)
        if seen:
            return f"{seen[0]} is needed outside: {_who_needs(self.graph, seen[0], group.names)}"
        way = self.way_back(group)
        if way:
            return f"the path {' -> '.join(way)} leaves the kernel and comes back"
        return self.not_online(group) or self.misfit(group)

    def not_online(self, group: Group) -> str:
        """Why reduced dims cannot be taken in parts and rescaled, '' if they can (or need not)."""
        return self.answers(why_not_in_parts, group.nodes, group.inside, group.online) if group.online else ""

    def misfit(self, group: Group) -> str:
        """Why a group's smallest tile does not fit, or its tiles get in each other's way; '' if they do not."""
        raced = self._raced(group)
        if raced or all(has(node, "elementwise") for node in group.nodes):
            return raced  # one element of each operand
        return self.answers(why_no_room, group.nodes, group.inside, group.online)

    def _raced(self, group: Group) -> str:
        """Which node writes over what another reads beside it, in tiles that know nothing of each other."""
        for part in connected(group.nodes) if any(name in self.edges.over for name in group.names) else ():
            beside = set(group.names).difference(node.name for node in part)
            for node in part:
                for other in self.edges.over.get(node.name, ()):
                    if other in beside:
                        return f"{other} writes over what {node.name} reads beside it"
        return ""

    def way_back(self, group: Group) -> tuple[str, ...]:
        """A path of nodes that leaves the group and enters it again, () if there is none. Other groups are one step."""
        inside = set(group.names)
        beyond = self._beyond(group)
        came_from: dict[str, str] = {}
        todo = [node.name for node in group.nodes]
        while todo:
            name = todo.pop()
            for reader in self._after(name, inside):
                if reader in inside and name not in inside:
                    return self._path(came_from, name, reader)
                if reader not in inside and reader not in came_from and self.edges.position[reader] < beyond:
                    came_from[reader] = name
                    todo += self._together(reader, came_from)
        return ()

    def _beyond(self, group: Group) -> int:
        """A place in the block after which no node, nor any other of its kernel, leads back to the group."""
        position = self.edges.position
        last = position[group.nodes[-1].name]
        reach = len(self.nodes)
        for node in reversed(self.nodes[last + 1 :]):
            first = position[self.of[node.name].nodes[0].name]
            if first <= last:
                return reach
            reach = position[node.name]
        return reach

    def _after(self, name: str, inside: Collection[str]) -> Iterator[str]:
        """Nodes that read what a node makes or write over what it reads; from inside the group only those outside."""
        node = self.nodes[self.edges.position[name]]
        after = (*self.edges.readers.get(node.writes, ()), *self.edges.over.get(name, ()))
        return (other for other in after if name not in inside or other not in inside)

    def _together(self, name: str, came_from: dict[str, str]) -> list[str]:
        """The node and the others of its kernel: who enters a kernel can leave by any of its results."""
        others = [node.name for node in self.of[name].nodes if node.name not in came_from]
        came_from.update((other, name) for other in others)
        return [name, *others]

    def _path(self, came_from: dict[str, str], last: str, end: str) -> tuple[str, ...]:
        path = [end, last]
        while path[-1] in came_from:
            path.append(came_from[path[-1]])
        return tuple(reversed(path))


def separate(graph: Graph, block: Block, ask: Ask, answers: Answers | None = None) -> Grouping:
    """Every node of a block in a group of its own: what a policy starts with. answers: where the graph has none."""
    others = {name for other in graph.blocks if other is not block for node in other.nodes for name in node.reads}
    carried = {result for other in graph.blocks for _, result in other.carried}
    shared = {tensor.name for tensor in graph.tensors if tensor.shares}
    edges = Edges(block, frozenset(others | carried | shared | graph.results), _over(graph, block))
    groups = {n.name: Group((n,), "one node", (), edges.inside((n,))) for n in block.nodes}
    return Grouping(graph, ask, edges, groups, answers or Facts(graph, ask.machine))


def _over(graph: Graph, block: Block) -> dict[str, tuple[str, ...]]:
    """For each node those that write over a state which it reads, and that do not read what it makes."""
    found: dict[str, tuple[str, ...]] = {node.name: () for node in block.nodes}
    made = {node.name: node.writes for node in block.nodes}
    reads = {node.name: node.reads for node in block.nodes}
    for name, before in waits_for(graph, block.nodes).items():
        for other in before:
            if made[other] not in reads[name]:
                found[other] = (*found[other], name)
    # In the order of the block: kernels that may run in any order run in that of their needs.
    return {name: others for name, others in found.items() if others}


def _who_needs(graph: Graph, tensor: str, inside: Sequence[str]) -> str:
    readers = [name for name in graph.readers(tensor) if name not in inside]
    if readers:
        return f"{readers[0]} reads it"
    carried = any(tensor == result for block in graph.blocks for _, result in block.carried)
    return "the next execution of its block reads it" if carried else "it is a result"
