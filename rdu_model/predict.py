"""The time of a nested section in closed form, for choosing tiles: the simulation says what it really is.

A loop of n steps over a body takes the body's fill once and its interval n - 1 times: the slowest part of the body, or
what the slots of its streams let through. Loops and nodes of the section follow one another as they need each other's
results; ahead.py says how their streams share off-chip memory, and how far these run ahead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from rdu_model.ahead import Part, time_of
from rdu_model.buffers import pmus_for
from rdu_model.loops import Body, Flowing, Inflow, Loops
from rdu_model.nests import Nest, Path
from rdu_model.sketch import Prediction, Sketch, Tiles, Within
from rdu_model.streams import Stream, allowed_of, slots_within

# A part by which floats may be off.
ROUNDING = 1e-9
# Slots of a stream that is neither of weights nor of states: two where there is another tile.
INPUT_SLOTS = 2


def predict(of: Sketch, tiles: Tiles, within: Within, enough: float = inf) -> float:
    """Cycles of one execution of a section with these tiles; far more where buffers would not fit.

    Infinite where that is sure to be more than `enough`, which saves finding out how much.
    """
    key = tuple([tiles[nest.key] for nest in of.nests])
    if key not in of.held:
        loops = of.loops(tiles)
        here = Prediction(of, loops, tiles, _flowing(of, loops, tiles))
        of.held[key] = here, _held_bytes(here), sum([flow.total_bytes for flow in here.flowing])
    here, held_bytes, streamed = of.held[key]
    room_bytes = within.room_bytes
    slower = 1 + 10 * max(0, held_bytes - room_bytes) / max(1, room_bytes)
    timed = key, within.repeated
    if timed not in of.times:
        # No time is less than that of the bytes alone, but for the rounding of floats.
        if streamed * of.memory.pace.cycles / of.memory.pace.amount * slower * (1 - ROUNDING) > enough:
            return inf
        if key not in of.parts:
            of.parts[key] = _parts(here)
        parts, early = of.parts[key]
        of.times[timed] = time_of(parts, early, of.memory, within.repeated)
    return of.times[timed] * slower


def _parts(here: Prediction) -> tuple[list[Part], int]:
    of, loops = here.of, here.loops
    row = loops.row
    sizes = dict(of.sizes)
    bodies = [_item(here, item, sizes) for item in row.items]
    first, ahead = [0] * len(bodies), [0] * len(bodies)
    # Tiles that are larger than what a stream may hold come early all the same: that is not to be relied on.
    early = 0
    for inflow, flow in zip(loops.inflows, here.flowing, strict=True):
        number = row.holds[inflow.reader]
        ahead[number] += flow.ahead_bytes
        if not inflow.around:
            first[number] += flow.moved_bytes
        early += max(0, flow.slots * flow.slot_bytes - flow.allowed_bytes)
    parts = [
        Part(needs, body.fill, body.tail, loaded, body.moved, min(before, loaded + body.moved))
        for needs, body, loaded, before in zip(row.needs, bodies, first, ahead, strict=True)
    ]
    return parts, early


def streamed_bytes(of: Sketch, tiles: Tiles) -> int:
    """Bytes that a section's streams bring in one execution with these tiles, as often as its loops read them again."""
    loops = of.loops(tiles)
    flowing = zip(loops.inflows, _flowing(of, loops, tiles), strict=True)
    return sum(flow.slot_bytes * trips(of, inflow.around, tiles) for inflow, flow in flowing)


def _flowing(of: Sketch, loops: Loops, tiles: Tiles) -> list[Flowing]:
    """How each stream flows. What a stream may hold follows from the bytes of all; the rest from its readers' tiles,
    so those together whose readers are in the same loops.
    """
    keys = [(path, tuple([tiles[nest] for nest in path])) for path in loops.tiled]
    total = 0
    for key in keys:
        if key not in loops.streams:
            numbers = loops.tiled[key[0]]
            streams = tuple([_stream(of, loops, loops.inflows[number], tiles) for number in numbers])
            ahead = [each.total_bytes for at, each in zip(numbers, streams, strict=True) if loops.inflows[at].ahead]
            loops.streams[key] = streams, sum(ahead)
        total += loops.streams[key][1]
    found: dict[int, Flowing] = {}
    for key, numbers in zip(keys, loops.tiled.values(), strict=True):
        if (key, total) not in loops.flows:
            streams, _ = loops.streams[key]
            loops.flows[key, total] = tuple(
                [_flow(of, loops.inflows[at], each, total) for at, each in zip(numbers, streams, strict=True)]
            )
        found.update(zip(numbers, loops.flows[key, total], strict=True))
    return [found[number] for number in range(len(loops.inflows))]


def _flow(of: Sketch, inflow: Inflow, stream: Stream, total_bytes: int) -> Flowing:
    """total_bytes: of all streams that may run ahead."""
    most_bytes = allowed_of(stream, total_bytes, of.machine.prefetch_bytes, of.machine)
    slot_bytes = stream.slot_bytes
    # A single large tile is there as a whole, but nothing says that it may come early.
    held = slots_within([stream], [most_bytes], of.machine)[0] if inflow.ahead else min(INPUT_SLOTS, stream.tiles)
    allowed = most_bytes if inflow.ahead else held * slot_bytes
    early = min(held * slot_bytes, allowed, stream.total_bytes)
    moved = int(slot_bytes * of.slower.get(of.nodes[inflow.reader].node.reads[inflow.number], 1))
    slots = min(held, stream.tiles)
    pmus = pmus_for(slots * slot_bytes, 0, 0, of.machine)
    return Flowing(slot_bytes, moved, slots, allowed, early, moved * stream.tiles, pmus)


def _stream(of: Sketch, loops: Loops, inflow: Inflow, tiles: Tiles) -> Stream:
    reads, _ = of.touched(inflow.reader, of.tile_sizes(loops.paths[inflow.reader], tiles))
    return Stream(reads[inflow.number], trips(of, inflow.around, tiles))


def trips(of: Sketch, path: Path, tiles: Tiles) -> int:
    """Steps of all these loops in one execution."""
    count = 1
    for nest in path:
        count *= -(-of.sizes[nest.dim] // tiles[nest.key])
    return count


def _item(here: Prediction, item: str | Nest, sizes: dict[str, int]) -> Body:
    """A node, or a loop with all its steps; of loops remembered, because most stay when a tile changes."""
    loops, tiles = here.loops, here.tiles
    if isinstance(item, str):
        # Outside all loops a node is the same whatever the tiles.
        if item not in loops.whole:
            loops.whole[item] = _node(here, item, sizes)
        return loops.whole[item]
    slots = tuple([here.flowing[number].slots for number in loops.within[item.key]])
    key = (
        item.key,
        tuple([tiles[nest] for nest in loops.inside[item.key]]),
        tuple([tiles[nest] for nest in loops.around[item.key]]),
        slots,
    )
    if key not in loops.bodies:
        loops.bodies[key] = _loop(here, item, sizes)
    return loops.bodies[key]


def _node(here: Prediction, name: str, sizes: Mapping[str, int]) -> Body:
    """A node with each of its tiles; the same in all loops that cut it alike and store its tiles."""
    of = here.of
    key = name, name in here.loops.stored.get(0, ()), of.costs.extents(name, sizes)
    if key not in of.bodies:
        of.bodies[key] = _new_node(here, name, sizes)
    return of.bodies[key]


def _new_node(here: Prediction, name: str, sizes: Mapping[str, int]) -> Body:
    of = here.of
    took = of.stage_cycles(name, sizes)
    stored = of.touched(name, sizes)[1] if name in here.loops.stored.get(0, ()) else 0
    late = took + of.latency_cycles(name)
    return Body(late + of.memory.pace.cycles_for(stored), took, late, stored, stored)


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
    """One step of a loop. Loops inside stream on: they hold nobody up but with their stages."""
    of = here.of
    direct = sum([here.flowing[number].moved_bytes for number in here.loops.at[nest.key]])
    alone = _direct(here, nest, sizes)
    bodies = [body or _item(here, item, sizes) for body, item in zip(alone, nest.body, strict=True)]
    needs = here.loops.needs[nest.key]
    ends: list[int] = []
    fill = slowest = stored = 0
    moved = direct
    for body, before in zip(bodies, needs, strict=True):
        end = body.fill + (max([ends[number] for number in before]) if before else 0)
        ends.append(end)
        fill, slowest = max(fill, end), max(slowest, body.slowest)
        moved += body.moved
        stored += body.stored
    tail = fill - of.memory.pace.cycles_for(stored) if direct else _tail(bodies, needs)
    return Body(fill, slowest, tail, moved, stored)


def _tail(bodies: Sequence[Body], needs: Sequence[tuple[int, ...]]) -> int:
    """Cycles after the last byte came that bodies bring, until the last result is there."""
    after = [0] * len(bodies)
    for number in reversed(range(len(bodies))):
        for needed in needs[number]:
            after[needed] = max(after[needed], after[number] + bodies[number].fill)
    return max([body.tail + rest for body, rest in zip(bodies, after, strict=True) if body.moved], default=0)


def _direct(here: Prediction, nest: Nest, sizes: dict[str, int]) -> tuple[Body | None, ...]:
    """What the nodes take that are in a loop and in none inside it, None in the place of those loops."""
    loops = here.loops
    key = nest.key, tuple([here.tiles[around] for around in (*loops.around[nest.key], nest.key)])
    if key not in loops.direct:
        loops.direct[key] = tuple(_node(here, item, sizes) if isinstance(item, str) else None for item in nest.body)
    return loops.direct[key]


def _slot_interval(here: Prediction, key: int, body: Body) -> int:
    """Cycles in which the slots of a loop's streams go round: fill one, wait for the memory's latency, read it."""
    of = here.of
    mine = [here.flowing[number] for number in here.loops.at[key] if here.flowing[number].slot_bytes]
    if not mine:
        return 0
    came = of.memory.pace.cycles_for(sum(flow.moved_bytes for flow in mine)) + of.memory.latency_cycles + of.way_cycles
    return -(-(came + body.slowest) // min(flow.slots for flow in mine))


def _held_bytes(here: Prediction) -> int:
    """Bytes of the PMUs of all buffers."""
    of, held, tiles = here.of, here.loops.held, here.tiles
    pmus = sum([flow.pmus for flow in here.flowing])
    for path, names in here.loops.buffered.items():
        key = path, tuple([tiles[nest] for nest in path])
        if key not in held:
            sizes, slots = of.tile_sizes(here.loops.kept[names[0]], tiles), 2 if path else 1
            held[key] = sum(pmus_for(slots * of.touched(name, sizes)[1], 0, 0, of.machine) for name in names)
        pmus += held[key]
    return pmus * of.machine.pmu_bytes
