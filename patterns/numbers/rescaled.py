"""A plan made for a graph of real extents, as a plan of the same graph with small ones: same calls, other numbers.

Calls, their nodes, nests, loops and splits stay. A tile that is a part of its dim is a part of the small dim too, with
several steps, the last of which has less to do where the dim allows it; loops over one dim inside each other stay of
different lengths; a tile that is the whole dim, or one point of it, stays that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby

from patterns.graph import Graph
from patterns.numbers.tiles import PlanError
from patterns.plan import Call, Nest, Plan, Tile, Tiling

MOST_PARTS = 3


def rescaled(plan: Plan, graph: Graph) -> Plan:
    """The plan for `graph`: the plan's own graph with other extents and other numbers of repetitions.

    Programs are left as they are, of the real extents: the result is to be executed, not simulated.
    Raises PlanError if the graph is not of the same nodes, or if the plan runs a block more or less often than its
    own graph does: small numbers of repetitions would hide that.
    """
    if [name for _, name in _names(plan.graph)] != [name for _, name in _names(graph)]:
        raise PlanError(f"{graph.name} with small extents has not the nodes of the one that was lowered")
    _need_all_repetitions(plan)
    times = dict(_repetitions(plan, graph))
    calls = tuple(
        replace(call, tiling=_tiling(call, plan.graph.sizes, graph.sizes), count=count, iterations=iterations)
        for number, call in enumerate(plan.calls)
        for count, iterations in [times[number]]
    )
    return replace(plan, graph=graph, calls=calls)


def _names(graph: Graph) -> Iterator[tuple[str, str]]:
    return ((block.name, node.name) for block, node in graph.nodes())


def _need_all_repetitions(plan: Plan) -> None:
    """Raises PlanError unless the calls that are of one block run it as often as it is there."""
    runs: dict[str, int] = {}
    for (block, count), calls in groupby(plan.calls, key=lambda call: (call.block, call.count)):
        runs[block] = runs.get(block, 0) + count * max(call.iterations for call in calls)
    for block in plan.graph.blocks:
        if "" not in runs and runs.get(block.name, 0) != block.count:
            raise PlanError(f"block {block.name} is executed {runs.get(block.name, 0)} times of {block.count}")


def _repetitions(plan: Plan, graph: Graph) -> Iterator[tuple[int, tuple[int, int]]]:
    """How often each call is launched and runs its block, so that every block is executed as often as it is there."""
    left = {block.name: block.count for block in graph.blocks}
    passes = {block.name: _passes(plan, block.name) for block in graph.blocks}
    for (block, count), group in groupby(enumerate(plan.calls), key=lambda pair: (pair[1].block, pair[1].count)):
        calls = list(group)
        if not block:
            yield from ((number, (1, 1)) for number, _ in calls)
            continue
        if block not in passes:
            raise PlanError(f"calls are of block {block!r}, which the graph does not have")
        passes[block] -= 1
        looped = max(call.iterations for _, call in calls) > 1
        # What runs a block several times takes all that later calls leave, the others one execution each.
        repeats = count * max(call.iterations for _, call in calls) > 1
        times = left[block] - passes[block] if repeats or not passes[block] else 1
        left[block] -= times
        for number, _ in calls:
            yield number, ((1, times) if looped else (times, 1))


def _passes(plan: Plan, block: str) -> int:
    """Groups of calls that execute a block, one group after the other."""
    return sum(name == block for (name, _), _ in groupby(plan.calls, key=lambda call: (call.block, call.count)))


def _tiling(call: Call, full: Mapping[str, int], small: Mapping[str, int]) -> Tiling:
    """A call's tiling at the small extents."""
    parts = {dim: min(count, MOST_PARTS, small[dim]) for dim, count in splits_of(call.tiling)}
    lengths: dict[str, set[int]] = {}
    for tile in _tiles(call.tiling):
        if 1 < tile.extent < full[tile.dim]:
            lengths.setdefault(tile.dim, set()).add(tile.extent)
    own = {dim: -(-small[dim] // parts.get(dim, 1)) for dim in lengths}
    sizes = {(dim, extent): size for dim in lengths for extent, size in _lengths(lengths[dim], own[dim], small[dim])}

    def shorter(tile: Tile) -> Tile:
        whole = 1 if tile.extent == 1 else small[tile.dim]
        return Tile(tile.dim, sizes.get((tile.dim, tile.extent), whole))

    def scaled(tiling: Tiling) -> Tiling:
        splits = tuple((dim, parts[dim]) for dim, _ in tiling.splits)
        nests = tuple(Nest(nest.nodes, scaled(nest.tiling)) for nest in tiling.nests)
        return Tiling(tuple(map(shorter, tiling.loops)), splits, nests, tuple(map(shorter, tiling.online)))

    return scaled(call.tiling)


def splits_of(tiling: Tiling) -> Iterator[tuple[str, int]]:
    """Every split of a tiling and of its nests."""
    yield from tiling.splits
    for nest in tiling.nests:
        yield from splits_of(nest.tiling)


def _tiles(tiling: Tiling) -> Iterator[Tile]:
    """Every loop of a tiling and of its nests."""
    yield from tiling.loops
    yield from tiling.online
    for nest in tiling.nests:
        yield from _tiles(nest.tiling)


def _lengths(extents: set[int], part: int, whole: int) -> Iterator[tuple[int, int]]:
    """A small length for each length of tiles of one dim: the longest divides neither what a part has nor the whole."""
    shorter = sorted(extents)[:-1]
    for number, extent in enumerate(shorter):
        yield extent, max(1, min(2 * (number + 1), part - 1))
    wished = [size for size in (3, 2, 4, 5, 7) if 2 * len(shorter) < size < part]
    ragged = [size for size in wished if part % size]
    yield max(extents), next(iter((*ragged, *wished)), max(1, min(part, whole) - 1))


def online_of(tiling: Tiling) -> Iterator[Tile]:
    """Every step in which sums are rescaled, of a tiling and of its nests."""
    yield from tiling.online
    for nest in tiling.nests:
        yield from online_of(nest.tiling)
