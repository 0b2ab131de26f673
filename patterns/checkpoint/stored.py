"""How checkpoints hold a graph's weights: under which names, one for each layer and expert, and with which axes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from patterns.graph import Graph, Tensor

# Copies of a weight that a checkpoint holds as tensors of their own.
EACH_LAYER, EACH_EXPERT = "{layer}", "{expert}"
EXPERTS = "experts"
_NUMBERED = re.compile(r"(?P<name>.+)_(?P<number>\d+)")


@dataclass(frozen=True)
class Stored:
    """A weight in a checkpoint: the name of its tensor, and what each of its axes is made of (dims, spaces between).

    Weights under one name lie one after another along the first axis, in the order of the table.
    """

    name: str
    axes: tuple[str, ...]


@dataclass(frozen=True)
class StoredPart:
    """A part of a stored tensor: layer `layer` (and expert `expert`) of a graph's weight. shape: its own."""

    name: str
    shape: tuple[int, ...]
    weight: Tensor
    layer: int
    copy: int
    expert: int


def stored(name: str, *axes: str) -> Stored:
    """A weight under a name, with these axes."""
    return Stored(name, axes)


def stored_parts(graph: Graph, table: Mapping[str, Stored]) -> Iterator[StoredPart]:
    """What a checkpoint holds of a graph's weights, in the order of the table."""
    weights = [tensor for tensor in graph.tensors if tensor.role == "weight"]
    layers = _layers(graph)
    for name, held in table.items():
        for weight in weights:
            if plain_name(weight.name) == name:
                yield from _of_weight(graph, weight, held, layers.get(weight.name, (0,)))


def plain_name(weight: str) -> str:
    """A weight's name without the number of its layer in a period."""
    numbered = _NUMBERED.fullmatch(weight)
    return numbered["name"] if numbered else weight


def _of_weight(graph: Graph, weight: Tensor, held: Stored, layers: tuple[int, ...]) -> Iterator[StoredPart]:
    shape = tuple(prod(graph.sizes[dim] for dim in axis.split()) for axis in held.axes)
    experts = graph.sizes[EXPERTS] if EACH_EXPERT in held.name else 1
    for copy, layer in enumerate(layers):
        for expert in range(experts):
            yield StoredPart(held.name.format(layer=layer, expert=expert), shape, weight, layer, copy, expert)


def _layers(graph: Graph) -> dict[str, tuple[int, ...]]:
    """Of each weight of a block, the layers whose copies it holds. Layers are counted over all blocks that have any."""
    found: dict[str, tuple[int, ...]] = {}
    first = 0
    for block in graph.blocks:
        own = [t.name for t in graph.tensors if t.block == block.name and t.role == "weight"]
        if not own:
            continue
        numbers = sorted({_number(name) for name in own})
        for name in own:
            at = first + numbers.index(_number(name))
            found[name] = tuple(at + len(numbers) * copy for copy in range(block.count))
        first += len(numbers) * block.count
    return found


def _number(weight: str) -> int:
    numbered = _NUMBERED.fullmatch(weight)
    return int(numbered["number"]) if numbered else 0
