"""The time of a nested section in closed form, for choosing tiles: the simulation says what it really is.

A loop of n steps over a body takes the body's fill once and its interval n - 1 times: the slowest part of the body, or
what the slots of its streams let through. Loops and nodes of the section follow one another as they need each other's
results; ahead.py says how their streams share off-chip memory, and how far these run ahead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rdu_model.ahead import Part, time_of
from rdu_model.buffers import pmus_for
from rdu_model.loops import Body, Inflow, Loops
from rdu_model.nests import Nest, Path
from rdu_model.sketch import Sketch, Tiles
from rdu_model.streams import Stream, allowed_bytes, slots_ahead

# Slots of a stream that is neither of weights nor of states: two where there is another tile.
INPUT_SLOTS = 2


@dataclass(frozen=True)
class Flowing:
    """A stream with tiles of these sizes: its slots, and how many bytes it may hold before its readers start.

    moved_bytes: that pass the first memory's streams meanwhile, of a tile that stays for several executions its part.
    """

    inflow: Inflow
    slot_bytes: int
    moved_bytes: int
    slots: int
    allowed_bytes: int
    ahead_bytes: int


@dataclass(frozen=True)
class Prediction:
    """A sketch with tiles for its loops."""

    of: Sketch
    loops: Loops
    tiles: Tiles
    flowing: Sequence[Flowing]


def predict(of: Sketch, tiles: Tiles, room_bytes: int) -> float:
    """Cycles of one execution of a section with these tiles; far more where buffers would not fit."""
    loops = of.loops(tiles)
    here = Prediction(of, loops, tiles, _flowing(of, loops, tiles))
    row = loops.row
    bodies = [_item(here, item, dict(of.sizes)) for item in row.items]
    first, ahead = [0] * len(bodies), [0] * len(bodies)
    for flow in here.flowing:
        number = row.holds[flow.inflow.reader]
        ahead[number] += flow.ahead_bytes
        if not flow.inflow.around:
            first[number] += flow.moved_bytes
    parts = [
        Part(row.needs[n], body.fill, body.tail, first[n], body.moved, min(ahead[n], first[n] + body.moved))
        for n, body in enumerate(bodies)
    ]
    # Tiles that are larger than what a stream may hold come early all the same: that is not to be relied on.
    early = sum(max(0, flow.slots * flow.slot_bytes - flow.allowed_bytes) for flow in here.flowing)
    time = time_of(parts, early, of.memory, of.repeated)
    over = max(0, _held_bytes(here) - room_bytes)
    return time * (1 + 10 * over / max(1, room_bytes))


def streamed_bytes(of: Sketch, tiles: Tiles) -> int:
    """Bytes that a section's streams bring in one execution with these tiles, as often as its loops read them again."""
    return sum(flow.slot_bytes * trips(of, flow.inflow.around, tiles) for flow in _flowing(of, of.loops(tiles), tiles))


def _flowing(of: Sketch, loops: Loops, tiles: Tiles) -> tuple[Flowing, ...]:
    found: list[tuple[Inflow, Stream]] = []
    for inflow in loops.inflows:
        path = loops.paths[inflow.reader]
        key = (inflow, tuple([tiles[nest.key] for nest in path]))
        if key not in loops.streams:
            reads, _ = of.touched(inflow.reader, of.tile_sizes(path, tiles))
            loops.streams[key] = Stream(reads[inflow.number], trips(of, inflow.around, tiles))
        found.append((inflow, loops.streams[key]))
    ahead = [stream for inflow, stream in found if inflow.ahead]
    prefetch = of.machine.prefetch_bytes
    allowed = iter(allowed_bytes(ahead, prefetch, of.machine))
    slots = iter(slots_ahead(ahead, prefetch, of.machine))
    flowing = []
    for inflow, stream in found:
        # A single large tile is there as a whole, but nothing says that it may come early.
        count = next(slots) if inflow.ahead else min(INPUT_SLOTS, stream.tiles)
        most = next(allowed) if inflow.ahead else count * stream.slot_bytes
        early = min(count * stream.slot_bytes, most, stream.total_bytes)
        count = min(count, stream.tiles * of.run.executions)
        slower = of.slower.get(of.nodes[inflow.reader].node.reads[inflow.number], 1)
        moved = int(stream.slot_bytes * slower) // (of.run.executions if inflow.stays else 1)
        flowing.append(Flowing(inflow, stream.slot_bytes, moved, count, most, early))
    return tuple(flowing)


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
        if loops.paths[item]:
            return _node(here, item, sizes)
        if item not in loops.whole:
            loops.whole[item] = _node(here, item, sizes)
        return loops.whole[item]
    slots = tuple([flow.slots for flow in here.flowing if flow.inflow.key in loops.inside[item.key]])
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
    direct = sum(flow.moved_bytes for flow in here.flowing if flow.inflow.key == nest.key)
    bodies = [_item(here, item, sizes) for item in nest.body]
    needs = here.loops.needs[nest.key]
    ends: list[int] = []
    for body, before in zip(bodies, needs, strict=True):
        ends.append(max((ends[number] for number in before), default=0) + body.fill)
    after = [0] * len(bodies)
    for number in reversed(range(len(bodies))):
        for needed in needs[number]:
            after[needed] = max(after[needed], after[number] + bodies[number].fill)
    fill = max(ends, default=0)
    stored = sum(body.stored for body in bodies)
    tails = [body.tail + rest for body, rest in zip(bodies, after, strict=True) if body.moved]
    return Body(
        fill=fill,
        slowest=max((body.slowest for body in bodies), default=0),
        tail=fill - of.memory.pace.cycles_for(stored) if direct else max(tails, default=0),
        moved=direct + sum(body.moved for body in bodies),
        stored=stored,
    )


def _slot_interval(here: Prediction, key: int, body: Body) -> int:
    """Cycles in which the slots of a loop's streams go round: fill one, wait for the memory's latency, read it."""
    of = here.of
    mine = [flow for flow in here.flowing if flow.inflow.key == key and flow.slot_bytes]
    if not mine:
        return 0
    came = of.memory.pace.cycles_for(sum(flow.moved_bytes for flow in mine)) + of.memory.latency_cycles + of.way_cycles
    return -(-(came + body.slowest) // min(flow.slots for flow in mine))


def _held_bytes(here: Prediction) -> int:
    """Bytes of the PMUs of all buffers."""
    of = here.of
    pmus = of.carried_bytes // of.machine.pmu_bytes
    for flow in here.flowing:
        pmus += pmus_for(flow.slots * flow.slot_bytes, 0, 0, of.machine)
    for name, kept in here.loops.kept.items():
        key = (name, tuple([here.tiles[nest.key] for nest in kept]))
        if key not in here.loops.held:
            made = of.touched(name, of.tile_sizes(kept, here.tiles))[1]
            here.loops.held[key] = pmus_for((2 if kept else 1) * made, 0, 0, of.machine)
        pmus += here.loops.held[key]
    return pmus * of.machine.pmu_bytes
