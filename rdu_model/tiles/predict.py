"""The time of a nested section in closed form, for choosing tiles: the simulation says what it really is.

A loop of n steps over a body takes the body's fill once and its interval n - 1 times: the slowest part of the body, or
what the slots of its streams let through. Loops and nodes of the section follow one another as they need each other's
results; ahead.py says how their streams share off-chip memory, and how far these run ahead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import cast

from rdu_model.tiles.ahead import Part, time_of, unhidden
from rdu_model.tiles.flowing import brought_by, flows_of
from rdu_model.tiles.loops import Body, Tiled
from rdu_model.tiles.nests import Nest, Shape
from rdu_model.tiles.sketch import Prediction, Sketch, Tiles, Within

# A part by which floats may be off.
ROUNDING = 1e-9


def predict(of: Sketch, tiles: Tiles, within: Within, enough: float = inf) -> float:
    """Cycles of one execution of a section with these tiles; far more where buffers would not fit.

    Infinite where that is sure to be more than `enough`, which saves finding out how much.
    """
    key = tuple([tiles[nest.key] for nest in of.nests])
    found = of.held.get(key)
    if found is None:
        loops = of.loops(tiles)
        brought = brought_by(of, loops, tiles)
        # No time is less than that of the bytes alone, but for the rounding of floats.
        least = sum([one.moved_bytes for one in brought]) * of.memory.pace.cycles / of.memory.pace.amount
        least *= 1 - ROUNDING
        if least > enough:
            return inf
        flows = flows_of(loops, brought, of.machine)
        streams = [stream for one in brought for stream in one.streams]
        here = Prediction(of, loops, tiles, brought, flows, streams, [slots for one in flows for slots in one.slots])
        found = of.held[key] = here, _held_bytes(here), least
    here, held_bytes, least = found
    room_bytes = within.room_bytes
    slower = 1 + 10 * max(0, held_bytes - room_bytes) / max(1, room_bytes)
    timed = key, within.repeated
    if timed not in of.times:
        if least * slower > enough:
            return inf
        if key not in of.parts:
            parts, early = _parts(here)
            of.parts[key] = parts, unhidden(parts, early, of.memory)
        parts, known = of.parts[key]
        if known.cycles() * slower > enough:
            return inf
        of.times[timed] = time_of(parts, known, of.memory, within.repeated)
    return of.times[timed] * slower


def _parts(here: Prediction) -> tuple[list[Part], int]:
    of, loops = here.of, here.loops
    row = loops.row
    bodies = _bodies(here, row.items, (loops.same[0], ()), dict(of.sizes))
    first, ahead = [0] * len(bodies), [0] * len(bodies)
    # Tiles that are larger than what a stream may hold come early all the same: that is not to be relied on.
    early = 0
    for brought, flows in zip(here.brought, here.flows, strict=True):
        for reader, more in brought.first:
            first[row.holds[reader]] += more
        for reader, more in flows.ahead:
            ahead[row.holds[reader]] += more
        early += flows.early_bytes
    parts = [
        Part(needs, body.fill, body.tail, loaded, body.moved, min(before, loaded + body.moved))
        for needs, body, loaded, before in zip(row.needs, bodies, first, ahead, strict=True)
    ]
    return parts, early


def streamed_bytes(of: Sketch, tiles: Tiles) -> int:
    """Bytes that a section's streams bring in one execution with these tiles, as often as its loops read them again."""
    brought = brought_by(of, of.loops(tiles), tiles)
    return sum([stream.slot_bytes * stream.tiles for one in brought for stream in one.streams])


def _bodies(here: Prediction, items: Shape, key: Tiled, sizes: dict[str, int]) -> list[Body]:
    """Nodes, and loops with all their steps. key: of the nodes among them, to remember them by."""
    of = here.of
    alone = of.direct.get(key)
    if alone is None:
        nodes = [_node(here, item, sizes) if isinstance(item, str) else None for item in items]
        alone = of.direct[key] = tuple(nodes)
    return [body or _item(here, cast(Nest, item), sizes) for body, item in zip(alone, items, strict=True)]


def _item(here: Prediction, nest: Nest, sizes: dict[str, int]) -> Body:
    """A loop with all its steps, remembered, because most stay when a tile changes."""
    loops, memo = here.loops, here.of.bodies
    key = loops.same[nest.key], loops.tiles[nest.key](here.tiles), loops.slots[nest.key](here.slots)
    found = memo.get(key)
    if found is None:
        found = memo[key] = _loop(here, nest, sizes)
    return found


def _node(here: Prediction, name: str, sizes: Mapping[str, int]) -> Body:
    """A node with each of its tiles; the same in all loops that cut it alike and store its tiles."""
    of = here.of
    extents, stores = of.costs.extents[name](sizes), name in here.loops.stored.get(0, ())
    pcus = of.pcus.get(name, 0)
    key = name, stores, extents, pcus
    found = of.nodes_took.get(key)
    if found is None:
        took = of.costs.stage_cycles(name, sizes, pcus, extents)
        late = took + of.costs.latencies[name]
        stored = of.touched(name, sizes)[1] if stores else 0
        fill = late + of.memory.pace.cycles_for(stored) if stored else late
        found = of.nodes_took[key] = Body(fill, took, late, stored, stored)
    return found


def _loop(here: Prediction, nest: Nest, sizes: dict[str, int]) -> Body:
    of = here.of
    extent = here.tiles[nest.key]
    body = _body(here, nest, {**sizes, nest.dim: extent})
    steps = -(-of.sizes[nest.dim] // extent)
    interval = max(body.slowest, _slot_interval(here, nest.key, body))
    # While the last step's tile passes the stages, the memory stores the tile before it.
    tail = body.tail - of.memory.pace.cycles_for(body.stored) if steps > 1 else body.tail
    # What the steps add up is stored when all are done.
    late = sum(of.touched(name, sizes)[1] for name in here.loops.stored.get(nest.key, ()))
    fill = body.fill + (steps - 1) * interval + of.memory.pace.cycles_for(late)
    return Body(fill, steps * interval, max(0, tail), steps * body.moved + late, steps * body.stored + late)


def _body(here: Prediction, nest: Nest, sizes: dict[str, int]) -> Body:
    """One step of a loop with what its own streams bring."""
    loops = here.loops
    key = loops.same[nest.key], loops.outer[nest.key](here.tiles)
    # Loops inside stream on: they hold nobody up but with their stages.
    step = _together(_bodies(here, nest.body, key, sizes), loops.needs[nest.key])
    direct = sum([here.streams[number].moved_bytes for number in loops.at[nest.key]])
    if not direct:
        return step
    tail = step.fill - here.of.memory.pace.cycles_for(step.stored)
    return Body(step.fill, step.slowest, tail, step.moved + direct, step.stored)


def _together(bodies: Sequence[Body], needs: Sequence[tuple[int, ...]]) -> Body:
    """Bodies that follow one another as they need each other's results, as one."""
    ends: list[int] = []
    fill = slowest = moved = stored = 0
    for (own_fill, own_slowest, _, own_moved, own_stored), before in zip(bodies, needs, strict=True):
        end = own_fill
        if before:
            end += max([ends[number] for number in before]) if len(before) > 1 else ends[before[0]]
        ends.append(end)
        # Comparisons, as there are very many bodies: calls of max take twice as long.
        if end > fill:
            fill = end
        if own_slowest > slowest:
            slowest = own_slowest
        moved += own_moved
        stored += own_stored
    return Body(fill, slowest, _tail(bodies, needs) if moved else 0, moved, stored)


def _tail(bodies: Sequence[Body], needs: Sequence[tuple[int, ...]]) -> int:
    """Cycles after the last byte came that bodies bring, until the last result is there."""
    after = [0] * len(bodies)
    for number in reversed(range(len(bodies))):
        rest = after[number] + bodies[number].fill
        for needed in needs[number]:
            if rest > after[needed]:
                after[needed] = rest
    return max([body.tail + rest for body, rest in zip(bodies, after, strict=True) if body.moved], default=0)


def _slot_interval(here: Prediction, key: int, body: Body) -> int:
    """Cycles in which the slots of a loop's streams go round: fill one, wait for the memory's latency, read it."""
    of = here.of
    mine = [number for number in here.loops.at[key] if here.streams[number].slot_bytes]
    if not mine:
        return 0
    moved = sum([here.streams[number].moved_bytes for number in mine])
    came = of.memory.pace.cycles_for(moved) + of.memory.latency_cycles + of.costs.way_cycles
    return -(-(came + body.slowest) // min([here.slots[number] for number in mine]))


def _held_bytes(here: Prediction) -> int:
    """Bytes of the PMUs of all buffers."""
    of, held, tiles = here.of, here.of.buffered, here.tiles
    pmus = sum([flows.pmus for flows in here.flows])
    pmu_bytes = of.machine.pmu_bytes
    for beside in here.loops.buffered:
        key = beside.same, beside.tiles(tiles)
        known = held.get(key)
        if known is None:
            sizes, slots = of.tile_sizes(beside.path, tiles), 2 if beside.path else 1
            made = [of.touched(name, sizes)[1] for name in beside.names]
            known = held[key] = sum([max(1, -(-slots * each // pmu_bytes)) for each in made])
        pmus += known
    return pmus * pmu_bytes
