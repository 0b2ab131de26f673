"""Collectives as pipeline stages: tiles stream through the links between sockets, and never through HBM.

An all-reduce of a tile is a reduce-scatter, after which each of p members has the sum of its share, then an all-gather:
each member sends 2 (p - 1) / p of the tile, whatever the way. `direct`, with links from every socket of a node to every
other, each phase is one trip. In a `ring` it is p - 1 trips, of a share each. Over several nodes direct exchanges are
inside each node, then of the shares between the nodes, then inside again; a ring is as slow as its slowest link.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from rdu_model.ask import Asked
from rdu_model.machine import Machine, Pace, cycles_of_link, cycles_of_node_link, link_pace, node_link_pace


@dataclass(frozen=True)
class Leg:
    """A part of an all-reduce: each member sends `share` of the payload, in so many trips one after another."""

    share: Fraction
    trips: int
    between_nodes: bool = False


@dataclass(frozen=True)
class Exchange:
    """One all-reduce of a tile for one member: bytes it sends, cycles its busiest links are busy, cycles from then on
    until it has the sum.
    """

    sent_bytes: int
    cycles: int
    latency_cycles: int


def exchange(asked: Asked, sizes: Mapping[str, int], machine: Machine) -> Exchange:
    """What a node that communicates costs with these extents, over the members that its graph has."""
    return all_reduce(asked.demand(sizes).network_bytes, asked.graph.sizes[asked.node.along], machine)


def all_reduce(payload_bytes: int, members: int, machine: Machine) -> Exchange:
    """The sum over `members` sockets of a tile of `payload_bytes`, which all of them get."""
    return _over(tuple(legs_of(members, machine)), payload_bytes, machine)


def reduce_scatter(payload_bytes: int, members: int, machine: Machine) -> Exchange:
    """The sum over `members` sockets of which each gets its share: half of an all-reduce."""
    legs = tuple(legs_of(members, machine))
    nodes, inside = nodes_of(members, machine)
    if machine.all_reduce == "direct" and nodes > 1:
        between = Leg(Fraction(nodes - 1, nodes * inside), 1, between_nodes=True)
        return _over((*(leg for leg in legs[:1] if not leg.between_nodes), between), payload_bytes, machine)
    return _over(legs[:1], payload_bytes, machine)


def _over(legs: tuple[Leg, ...], payload_bytes: int, machine: Machine) -> Exchange:
    """Legs one after another. Links inside a node and between nodes work on different tiles at once: the slower of
    them sets the pace, and a tile passes through both.
    """
    if not legs:
        return Exchange(0, 0, 0)
    sent = {between: sum(leg.share for leg in legs if leg.between_nodes == between) for between in (False, True)}
    busy = [_pace(machine, between).cycles_for(ceil(payload_bytes * share)) for between, share in sent.items()]
    trips = sum(leg.trips * _trip_cycles(machine, leg.between_nodes) for leg in legs)
    return Exchange(ceil(payload_bytes * sum(sent.values())), max(busy), trips + sum(busy) - max(busy))


def legs_of(members: int, machine: Machine) -> Iterator[Leg]:
    """The legs of an all-reduce over so many sockets, in order; none for one."""
    if members == 1:
        return
    nodes, inside = nodes_of(members, machine)
    if machine.all_reduce == "ring":
        each = Leg(Fraction(members - 1, members), members - 1, nodes > 1)
        yield from (each, each)
        return
    within = Leg(Fraction(inside - 1, inside), 1)
    if inside > 1:
        yield within
    if nodes > 1:
        # Two nodes swap their shares whole: as many bytes as in two halves, and one trip.
        yield Leg(Fraction(2 * (nodes - 1), nodes * inside), 1 if nodes == 2 else 2, between_nodes=True)
    if inside > 1:
        yield within


def nodes_of(members: int, machine: Machine) -> tuple[int, int]:
    """The fewest nodes that share the members out equally, and how many each has."""
    fewest = -(-members // machine.node_sockets)
    nodes = next(count for count in range(fewest, members + 1) if members % count == 0)
    return nodes, members // nodes


def _pace(machine: Machine, between_nodes: bool) -> Pace:
    return node_link_pace(machine) if between_nodes else link_pace(machine)


def _trip_cycles(machine: Machine, between_nodes: bool) -> int:
    return cycles_of_node_link(machine) if between_nodes else cycles_of_link(machine)
