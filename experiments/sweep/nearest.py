"""The nearest change that would make an infeasible point feasible: more members, a smaller batch, fewer stages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from experiments.sweep.engine import graph_of
from patterns.count import parameter_bytes
from patterns.errors import DoesNotFit, UserError
from patterns.plural import number_of
from patterns.room import held_bytes

if TYPE_CHECKING:
    from experiments.point import Point

# Members that are tried beyond the number that size alone asks for: heads and widths must divide by it.
TRIED = 16
SHRUNK = 4
KEPT = 4096


def nearest_change(point: Point, misfit: DoesNotFit, content: str) -> str:
    """What would do, in words: computed where memory is short, else as the machine's model says of it."""
    held = _held(point, content) if misfit.memory else None
    if held is None:
        return misfit.nearest
    weights, whole, _ = held
    ways = [*_members(point, content, misfit.available, whole), *_batches(point, content, misfit.available, held)]
    told = f"{' or '.join(ways)} would do" if ways else misfit.nearest
    if whole <= misfit.available:  # it is of one tensor, not of all
        return told
    rest = _gb(whole - weights)
    return (
        f"{_gb(weights)} of weights and {rest} of cache, inputs and outputs, {_gb(misfit.available)} there are; {told}"
    )


def _members(point: Point, content: str, available: int, whole: int) -> Iterator[str]:
    """The fewest members that hold it."""
    least = max(point.members + 1, -(-whole * point.members // available))
    able = (m for m in range(least, least + TRIED) if _fits(replace(point, members=m), content, available))
    yield from (number_of(members, "member") for members in islice(able, 1))


def _batches(point: Point, content: str, available: int, held: tuple[int, int, int]) -> Iterator[str]:
    """The greatest smaller batch that fits: all but the weights grow with it."""
    weights, whole, batch = held
    if batch < 2 or whole <= weights:
        return
    most = min(batch - 1, (available - weights) * batch // (whole - weights))
    tried = range(most, max(0, most - SHRUNK), -1)
    able = (size for size in tried if _fits(replace(point, batch=size), content, available))
    yield from (f"a batch of at most {size:,}" for size in islice(able, 1))


def _fits(point: Point, content: str, available: int) -> bool:
    held = _held(point, content)
    return held is not None and held[1] <= available


def _held(point: Point, content: str) -> tuple[int, int, int] | None:
    """Bytes of weights and of all that a member holds, and the batch; None where members cannot share it so."""
    settings = tuple(setting for setting in point.settings if setting[0].startswith("graph."))
    return _held_by(replace(point, machine="", mode="", settings=settings), content)


@lru_cache(KEPT)
def _held_by(point: Point, content: str) -> tuple[int, int, int] | None:
    try:
        graph = graph_of(point, content)
    except UserError:
        return None
    return parameter_bytes(graph), held_bytes(graph), graph.sizes.get("batch", 1)


def _gb(num_bytes: int) -> str:
    return f"{num_bytes / 1e9:,.1f} GB"
