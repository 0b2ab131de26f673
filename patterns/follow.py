"""Dims that follow others: what makes the operand of a window tile by tile makes as much as the window's tile needs.

In a loop over the windows of `to: out k`, a node that makes what they are taken from has in each step those elements
that no step before has needed: all that are needed are there, each is made once, and the rest in the last step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from patterns.addressed import is_address
from patterns.count import node_dims
from patterns.graph import Graph, Node
from patterns.move import Range, reaching, words

# Points of a leader by which to tell whether all need as many elements: a pad between elements shows within them.
_LOOKED_AT = 8


@dataclass(frozen=True)
class Follow:
    """Elements along `dim`, which has `extent`, follow those along `leader`, which has `leads`: by what `node` does."""

    node: Node
    dim: str
    leader: str
    extent: int
    leads: int
    others: tuple[tuple[str, int], ...]

    def boundary(self, at: int) -> int:
        """How many elements along the dim the first `at` points of the leader need; all points, all of them."""
        if at <= 0 or at >= self.leads:
            return 0 if at <= 0 else self.extent
        move = reaching(self.node)
        assert move is not None, self.node.name
        tile = {self.leader: (0, at), **{dim: (0, size) for dim, size in self.others}}
        return min(self.extent, move.part(self.node, tile, self.extent)[1][1])

    @property
    def shares(self) -> bool:
        """Whether points of the leader that are beside each other need some elements together."""
        move = reaching(self.node)
        assert move is not None, self.node.name
        tile = {self.leader: (1, 2), **{dim: (0, size) for dim, size in self.others}}
        return self.leads > 1 and move.part(self.node, tile, self.extent)[1][0] < self.boundary(1)

    @property
    def even(self) -> bool:
        """Whether each point of the leader after the first needs as many elements more, and some."""
        counts = [self.boundary(at) for at in range(1, min(self.leads, _LOOKED_AT))]
        more = {after - before for before, after in pairwise(counts)}
        return len(more) < 2 and 0 not in more

    def range(self, of_leader: Range) -> Range:
        """What a step over these points of the leader makes along the dim."""
        return self.boundary(of_leader[0]), self.boundary(of_leader[1])


def follows(graph: Graph, nodes: Sequence[Node]) -> tuple[Follow, ...]:
    """The dims that follow others among nodes, each after the dim that it follows.

    None whose elements several nodes move, reduce, look up or carry a state along, none that a node reads together
    with what it follows, and none in a ring: there a loop over the one is no loop over the other.
    """
    movers = [node for node in nodes if is_address(node) and node.along]
    leader = {node.along: words(node, "to")[0] for node in movers}
    taken = [node.along for node in nodes if node.along] + [dim for node in nodes for dim in node.over]
    chains = {dim: _chain(dim, leader) for dim in leader}
    sound = {
        dim: chain
        for dim, chain in chains.items()
        if chain and taken.count(dim) == 1 and not any(_reads_both(graph, node, dim, chain) for node in nodes)
    }
    by_dim = {node.along: node for node in movers}
    ordered = sorted(sound, key=lambda dim: len(sound[dim]))
    return tuple(_follow(graph, by_dim[dim]) for dim in ordered)


def moved_later(nodes: Sequence[Node], found: Sequence[Follow]) -> dict[str, frozenset[str]]:
    """Of each node the dims that it has whole because it only addresses what a later window or pad moves along them.

    The result may have a dim of that name again, which is another: a loop over the one is none over the other.
    """
    own = {follow.dim for follow in found}
    later: dict[str, frozenset[str]] = {node.name: frozenset() for node in nodes}
    made = {node.writes: node for node in nodes if is_address(node)}
    for node in reversed(nodes):
        before = made.get(node.reads[0]) if is_address(node) else None
        if before is not None:
            later[before.name] |= later[node.name] | ({node.along} - own)
    return later


def _chain(dim: str, leader: Mapping[str, str]) -> tuple[str, ...]:
    """The dims that a dim follows, nearest first; () in a ring."""
    chain: list[str] = []
    while dim in leader:
        dim = leader[dim]
        if dim in chain:
            return ()
        chain.append(dim)
    return tuple(chain)


def _reads_both(graph: Graph, node: Node, dim: str, chain: Sequence[str]) -> bool:
    dims = node_dims(graph, node)
    return dim in dims and any(other in dims for other in chain) and node.along != dim


def _follow(graph: Graph, node: Node) -> Follow:
    leader, *others = words(node, "to")
    sizes = graph.sizes
    named = tuple((dim, sizes[dim]) for dim in others)
    return Follow(node, node.along, leader, sizes[node.along], sizes[leader], named)


def with_followed(found: Sequence[Follow], ranges: Mapping[str, Range]) -> Mapping[str, Range]:
    """The ranges, and those of the dims that follow dims among them."""
    made = dict(ranges)
    for follow in found:
        if follow.leader in made and follow.dim not in made:
            made[follow.dim] = follow.range(made[follow.leader])
    return made


def chain_of(found: Sequence[Follow], dim: str) -> tuple[str, ...]:
    """The dims that a dim follows, nearest first."""
    leader = {follow.dim: follow.leader for follow in found}
    return _chain(dim, leader)


def leaders(found: Sequence[Follow], dims: frozenset[str]) -> frozenset[str]:
    """The dims, and all that some of them follow."""
    for follow in reversed(found):
        if follow.dim in dims:
            dims |= {follow.leader}
    return dims


# Extents in which a loop over a dim stands at its first step, or at its last.
FIRST, LAST = "first step along ", "last step along "


def with_steps(found: Sequence[Follow], sizes: Mapping[str, int]) -> Mapping[str, int]:
    """Extents of one step, with those of the dims that follow dims which the step cuts.

    Of the first step, of the last, or of one between, as `sizes` says (see FIRST, LAST).
    """
    ways: dict[str, tuple[Follow, ...]] = {}
    made = dict(sizes)
    for follow in found:
        if follow.leader in ways or sizes[follow.leader] < follow.leads:
            way = ways[follow.dim] = (*ways.get(follow.leader, ()), follow)
            root = way[0].leader
            made[follow.dim] = _in_step(way, sizes[root], FIRST + root in sizes, LAST + root in sizes)
    return made if ways else sizes


def _in_step(way: Sequence[Follow], size: int, first: bool, last: bool) -> int:
    """Elements that a step of `size` has; steps between are taken as alike, and together have no fewer."""
    whole = way[0].leads
    if last:
        return way[-1].extent - _needed(way, whole - size)
    steps = -(-whole // size)
    if first:
        return _needed(way, size)
    if steps < 3:
        return max(1, _needed(way, size))
    return max(1, -(-(_needed(way, (steps - 1) * size) - _needed(way, size)) // (steps - 2)))


def _needed(way: Sequence[Follow], at: int) -> int:
    for follow in way:
        at = follow.boundary(at)
    return at
