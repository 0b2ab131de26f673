"""What a section reads from off-chip memory and stores there, whatever its loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rdu_model.ask import Asked
from rdu_model.connect import is_stored


@dataclass(frozen=True)
class Reading:
    """A read that comes from off-chip memory, whatever the loops. cutting: dims along which steps need other elements.

    part: whether the node takes a part of the tensor. ahead: of weights or states.
    """

    reader: str
    number: int
    tensor: str
    cutting: frozenset[str]
    part: bool
    ahead: bool


@dataclass(frozen=True)
class Outside:
    """What an execution of a section has from and to off-chip memory, whatever the loops.

    leaving: dims of results, by their node.
    """

    readings: tuple[Reading, ...]
    leaving: Mapping[str, tuple[str, ...]]


def outside(nodes: Mapping[str, Asked]) -> Outside:
    """What the nodes of a section read and store there."""
    leaving = {
        name: asked.graph.tensor_named[asked.node.writes].dims
        for name, asked in nodes.items()
        if is_stored(asked.graph, nodes, asked.node.writes)
    }
    return Outside(tuple(_readings(nodes)), leaving)


def _readings(nodes: Mapping[str, Asked]) -> Iterator[Reading]:
    made = {asked.node.writes for asked in nodes.values()}
    for name, asked in nodes.items():
        for number, read in enumerate(asked.node.reads):
            tensor = asked.graph.tensor_named[read]
            if read in made and not tensor.shares:
                continue
            role = asked.graph.tensor_named[tensor.shares or tensor.name].role
            part, ahead = asked.takes_part(number), role in ("weight", "state")
            yield Reading(name, number, read, asked.cutting(number), part, ahead)
