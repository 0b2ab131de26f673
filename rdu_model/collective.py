"""Collectives as pipeline stages: tiles stream through the links between sockets, and never through HBM."""

from __future__ import annotations

from dataclasses import dataclass

from rdu_model.machine import Machine, cycles_of_link, link_pace

# A reduce-scatter, then an all-gather; with links from every socket to every other each is one trip.
PHASES = 2


@dataclass(frozen=True)
class Exchange:
    """One all-reduce of a tile for one member: bytes it sends, cycles its links are busy, latency of the trips."""

    sent_bytes: int
    cycles: int
    latency_cycles: int


def all_reduce(payload_bytes: int, members: int, machine: Machine) -> Exchange:
    """The sum over `members` sockets of a tile of `payload_bytes`: each sends 2 (members - 1) / members of it."""
    if members == 1:
        return Exchange(0, 0, 0)
    sent = -(-payload_bytes * PHASES * (members - 1) // members)
    return Exchange(sent, link_pace(machine).cycles_for(sent), PHASES * cycles_of_link(machine))
