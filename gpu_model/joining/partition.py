"""A block cut into kernels of neighbouring nodes, so that their predicted times add up to the least."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from gpu_model.joining.kernel_cost import Cost, Costs
from gpu_model.joining.legal import Group, Grouping
from gpu_model.policy import ordered
from patterns.graph import Node
from patterns.kind import has

REASON = "predicted to take least together"
# Nodes of a kernel that is made of neighbours: a product with rotary position and cache writes has 13. Blocks of very
# many nodes are cut with fewer, as the work grows with both.
MOST_NODES, FEWER_NODES, MANY = 24, 12, 200
# A kernel that is dearer than the best cut of its nodes by a fourth of its own time is not made longer.
HOPELESS = 4

Weigh = Callable[[Cost], int]


def orders(groupings: Iterable[Grouping]) -> tuple[tuple[Node, ...], ...]:
    """The different orders of nodes in which groupings run their kernels."""
    return tuple(dict.fromkeys(tuple(n for group in ordered(g) for n in group.nodes) for g in groupings))


def cheapest(nodes: Sequence[Node], known: Sequence[Grouping], costs: Costs, weigh: Weigh) -> Grouping:
    """The block in kernels of neighbours among its nodes, which are in an order in which it can run.

    known: groupings whose kernels are candidates too, where their nodes are neighbours; the first has none of
    more than one node. Kernels of neighbours in such an order never need each other in a circle.
    """
    given = _given(nodes, known)
    closed = _closed(nodes, given, known[0], costs, weigh)
    least: list[int | None] = [None] * len(nodes) + [0]
    cut: dict[int, Group] = {}
    for start in reversed(range(len(nodes))):
        if start in closed:
            continue
        for group, lengthens in _candidates(start, nodes, known[0], given.get(start, ())):
            end = start + len(group.nodes)
            cost, rest = None if end in closed else costs.of(group), least[end]
            if cost is None and lengthens:
                break  # with more nodes it does not fit either
            if cost is None or rest is None:
                continue
            own, best = weigh(cost), least[start]
            if best is None or own + rest < best:
                least[start], cut[start] = own + rest, group
            elif lengthens and own + rest > best + own // HOPELESS:
                break
    return _grouped(known[0], nodes, cut) if least[0] is not None else known[0]


def _given(nodes: Sequence[Node], known: Iterable[Grouping]) -> dict[int, tuple[Group, ...]]:
    """Kernels of other groupings whose nodes are neighbours, by where they begin."""
    place = {node.name: at for at, node in enumerate(nodes)}
    found: dict[int, tuple[Group, ...]] = {}
    for grouping in known:
        for group in grouping.groups():
            places = [place[name] for name in group.names]
            if len(places) > 1 and max(places) - min(places) == len(places) - 1:
                found[min(places)] = (*found.get(min(places), ()), group)
    return found


def _closed(
    nodes: Sequence[Node], given: Mapping[int, Iterable[Group]], alone: Grouping, costs: Costs, weigh: Weigh
) -> frozenset[int]:
    """Places where no kernel begins or ends: between matrix products that by themselves take longer than the kernel
    that takes both in parts, with all between them, where no kernel fits that does so without parts.

    Assumed: a kernel with a matrix product takes at least as long as that product by itself. So no cut in between is
    the cheapest, nor worth to be made longer.
    """
    place = {node.name: at for at, node in enumerate(nodes)}
    closed: set[int] = set()
    for group in (group for groups in given.values() for group in groups if group.online):
        places = sorted(place[node.name] for node in group.nodes if has(node, "contracts"))
        parts = [costs.of(alone.of[nodes[at].name]) for at in (places[0], places[-1])] if len(places) > 1 else []
        own = [weigh(cost) for cost in parts if cost is not None]
        whole = costs.of(group)
        if len(own) < 2 or whole is None or sum(own) - own[0] // HOPELESS <= weigh(whole):
            continue
        if costs.of(alone.made_of(group.nodes, REASON)) is None:
            closed.update(range(places[0] + 1, places[-1] + 1))
    return frozenset(closed)


def _candidates(
    start: int, nodes: Sequence[Node], alone: Grouping, given: Iterable[Group]
) -> Iterator[tuple[Group, bool]]:
    """Kernels that begin at a node, those of other groupings first; with whether longer ones would follow.

    What is in parts that have nothing in common is left out.
    """
    yield from ((group, False) for group in given)
    parts: list[set[str]] = []
    most = MOST_NODES if len(nodes) <= MANY else FEWER_NODES
    for end in range(start + 1, min(start + most, len(nodes)) + 1):
        parts = _with(parts, nodes[end - 1])
        if len(parts) > 1:
            continue
        group = alone.made_of(nodes[start:end], REASON if end > start + 1 else "one node")
        yield group, True


def _with(parts: list[set[str]], node: Node) -> list[set[str]]:
    """Sets of tensors that nodes have in common, with one node more."""
    own = {*node.reads, node.writes}
    apart = [part for part in parts if not part & own]
    return [*apart, own.union(*(part for part in parts if part & own))]


def _grouped(alone: Grouping, nodes: Sequence[Node], cut: dict[int, Group]) -> Grouping:
    of: dict[str, Group] = {}
    at = 0
    while at < len(nodes):
        group = cut[at]
        of.update(dict.fromkeys(group.names, group))
        at += len(group.nodes)
    # By their first nodes, as every grouping has them.
    return replace(alone, of={node.name: of[node.name] for node in alone.nodes})
