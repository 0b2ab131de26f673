"""How a section's streams flow with some tiles: how many slots each has, and what comes before its readers start.

What a stream may hold follows from the bytes of all that may run ahead; the rest from its readers' tiles. So streams
are taken together whose readers are in the same loops, and their parts of it found again only where these change.
"""

from __future__ import annotations

from collections.abc import Sequence

from rdu_model.machine import Machine
from rdu_model.tiles.loops import Beside, Brought, Flows, Loops, Streaming
from rdu_model.tiles.sketch import Sketch, Tiles
from rdu_model.tiles.streams import allowed_of, least_bytes, slots_of

# Slots of a stream that is neither of weights nor of states: two where there is another tile.
INPUT_SLOTS = 2


def brought_by(of: Sketch, loops: Loops, tiles: Tiles) -> list[Brought]:
    """What streams bring with these tiles, in the order of the groups that loops have them in."""
    found = []
    for beside in loops.streaming:
        key = beside.same, beside.tiles(tiles)
        known = of.brought.get(key)
        if known is None:
            known = of.brought[key] = _brought(of, beside, tiles)
        found.append(known)
    return found


def flows_of(loops: Loops, brought: Sequence[Brought], machine: Machine) -> list[Flows]:
    """How streams flow that bring so much, in the same order."""
    total = sum([one.ahead_bytes for one in brought])
    found = []
    for beside, one in zip(loops.streaming, brought, strict=True):
        known = one.flows.get(total)
        if known is None:
            known = one.flows[total] = _flows(beside, one.streams, total, machine)
        found.append(known)
    return found


def _brought(of: Sketch, beside: Beside, tiles: Tiles) -> Brought:
    sizes = of.tile_sizes(beside.path, tiles)
    # Steps of the first loops of the path, by how many of them.
    steps = [1]
    for nest in beside.path:
        steps.append(steps[-1] * -(-of.sizes[nest.dim] // tiles[nest.key]))
    read = {name: of.touched(name, sizes)[0] for name in beside.names}
    streams, first = [], []
    ahead = passed = 0
    for inflow in beside.inflows:
        slot_bytes = moved = read[inflow.reader][inflow.number]
        if of.slower:
            moved = int(slot_bytes * of.slower.get(of.nodes[inflow.reader].node.reads[inflow.number], 1))
        count = steps[len(inflow.around)]
        streams.append(Streaming(slot_bytes, count, moved))
        first.append(0 if inflow.around else moved)
        passed += moved * count
        if inflow.ahead:
            ahead += slot_bytes * count
    return Brought(tuple(streams), ahead, passed, _by_reader(beside, first), {})


def _flows(beside: Beside, streams: Sequence[Streaming], total_bytes: int, machine: Machine) -> Flows:
    """total_bytes: of all streams that may run ahead."""
    least, pmu_bytes = least_bytes(machine), machine.pmu_bytes
    slots, ahead = [], []
    pmus = early = 0
    for inflow, (slot_bytes, tiles, _) in zip(beside.inflows, streams, strict=True):
        whole = slot_bytes * tiles
        if inflow.ahead:
            allowed = allowed_of(whole, total_bytes, machine.prefetch_bytes, least)
            held = slots_of(slot_bytes, tiles, least, allowed)
            # A single large tile is there as a whole, but nothing says that it may come early.
            ahead.append(min(held * slot_bytes, allowed, whole))
            held = min(held, tiles)
            early += max(0, held * slot_bytes - allowed)
        else:
            held = min(INPUT_SLOTS, tiles)
            ahead.append(held * slot_bytes)
        slots.append(held)
        pmus += max(1, -(-held * slot_bytes // pmu_bytes))
    return Flows(tuple(slots), pmus, early, _by_reader(beside, ahead))


def _by_reader(beside: Beside, found: Sequence[int]) -> tuple[tuple[str, int], ...]:
    """Bytes of streams by their readers, added up; by the first where all are in one loop, which waits as one."""
    if beside.path:
        return ((beside.names[0], sum(found)),)
    total: dict[str, int] = {}
    for inflow, more in zip(beside.inflows, found, strict=True):
        total[inflow.reader] = total.get(inflow.reader, 0) + more
    return tuple(total.items())
