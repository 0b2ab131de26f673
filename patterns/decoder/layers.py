"""Layers that are not all alike: a block for each run of alike layers, or for each period of a repeated order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Generic, TypeVar

from patterns.decoder import BLOCK
from patterns.graph_file.draft import Data, Draft

# Layers of a period: of a longer one, each run of alike layers is a block.
LONGEST_PERIOD = 8

Change = Callable[[Draft], Draft]


Layer = TypeVar("Layer")


@dataclass(frozen=True)
class Segment(Generic[Layer]):
    """Layers in order, so many times. count: that as the file says it."""

    layers: tuple[Layer, ...]
    times: int
    count: int | str


def with_layers(draft: Draft, layers: Sequence[Change]) -> Draft:
    """The draft whose layers are the one decoder layer, each changed as `layers` says of it."""
    if len(set(layers)) == 1:
        return layers[0](draft)
    variants = {change: change(draft).data["blocks"][BLOCK] for change in dict.fromkeys(layers)}
    return draft.changed(lambda data: _put_segments(data, segments(layers), variants))


def segments(layers: Sequence[Layer]) -> tuple[Segment[Layer], ...]:
    """Layers as a repeated period and the rest of one, or else as runs of alike ones.

    Where another number of layers is asked for, there are more or fewer periods, or the longest run is another.
    """
    for period in range(2, LONGEST_PERIOD + 1):
        whole = len(layers) // period
        if whole > 1 and all(layer == layers[at % period] for at, layer in enumerate(layers)):
            rest = tuple(layers[whole * period :])
            periods = Segment(tuple(layers[:period]), whole, f"{_layers_but(len(rest))} / {period}")
            return (periods, Segment(rest, 1, 1)) if rest else (periods,)
    runs = [(layer, len(list(run))) for layer, run in groupby(layers)]
    longest = max(length for _, length in runs)
    at_longest = [length for _, length in runs].index(longest)
    return tuple(
        Segment((layer,), length, _layers_but(len(layers) - longest) if at == at_longest else length)
        for at, (layer, length) in enumerate(runs)
    )


def _layers_but(others: int) -> str:
    return f"(layers - {others})" if others else "layers"


def _put_segments(data: Data, found: Sequence[Segment[Change]], variants: dict[Change, Data]) -> None:
    """Blocks for all segments in the place of the decoder's."""
    before: dict[str, str] = {}
    blocks: dict[str, Any] = {}
    number = 0
    for name, block in data["blocks"].items():
        if name != BLOCK:
            blocks[name] = _renamed(block, before)
            continue
        results: dict[str, str] = dict(block["carried"])
        for at, segment in enumerate(found):
            made, number = _segment(segment, variants, {k: before.get(v, k) for k, v in results.items()}, number)
            blocks[f"{BLOCK}_{at + 1}" if len(found) > 1 else BLOCK] = made
            before = {result: f"{result}_{number}" for result in results.values()}
    data["blocks"] = blocks


def _segment(
    segment: Segment[Change], variants: dict[Change, Data], first: dict[str, str], number: int
) -> tuple[Data, int]:
    """A block with a segment's layers, each with its number at its names. first: what its first layer carries on."""
    made: Data = {"tensors": {}, "nodes": {}}
    inside = first
    for change in segment.layers:
        number += 1
        variant = variants[change]
        own = [*variant.get("tensors", {}), *variant["nodes"]]
        names = {name: f"{name}_{number}" for name in own}
        made["tensors"] |= {names[name]: tensor for name, tensor in variant.get("tensors", {}).items()}
        made["nodes"] |= {names[name]: _reading(node, {**names, **inside}) for name, node in variant["nodes"].items()}
        inside = {into: names[result] for into, result in variant["carried"].items()}
    if segment.times == 1:
        return made, number
    carried = {first[into]: result for into, result in inside.items()}
    return {"count": segment.count, "carried": carried, **made}, number


def _renamed(block: Data, names: dict[str, str]) -> Data:
    return {**block, "nodes": {name: _reading(node, names) for name, node in block["nodes"].items()}}


def _reading(node: Data, names: dict[str, str]) -> Data:
    return {**node, "reads": [names.get(name, name) for name in node["reads"]]}
