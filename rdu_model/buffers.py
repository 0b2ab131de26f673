"""Buffers in PMUs: how many tiles each link holds, in how many PMUs, and how fast stages read and write them.

PMUs of a buffer = max(capacity, read bandwidth, write bandwidth). Capacity must be had, of streams of weights and
states that of one tile; what is left over serves bandwidth, and then these streams, which run ahead as streams.py says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from patterns.follow import FIRST
from patterns.pipeline.hashed import changed, made_directly
from rdu_model.collective import exchange
from rdu_model.flow import Flow, Link
from rdu_model.homes import first_memory
from rdu_model.machine import Machine
from rdu_model.pipe import Carry, Load, Stage
from rdu_model.price import Grid, cycles, grid, rereads
from rdu_model.shortage import Shortage
from rdu_model.tiles.streams import Stream, slots_ahead

# The pace of what holds nobody up.
NONE = Fraction(0)


@made_directly
@dataclass(frozen=True)
class Group:
    """A stage on its PCUs, for a full tile: its grid, how often it reads each operand from PMUs, its cycles."""

    pcus: int
    work: Grid
    rereads: tuple[int, ...]
    cycles: int


@made_directly
@dataclass(frozen=True)
class Buffer:
    """The PMUs of a link: `slots` tiles of `slot_bytes`. turns: slots share a bank, so reads and writes take turns."""

    link: Link
    slots: int
    slot_bytes: int
    pmus: int
    turns: bool = False


@dataclass(frozen=True)
class Buffers:
    """The PMUs of a section. carried: of what one iteration hands to the next. lacking: missing for full speed."""

    of_links: tuple[Buffer, ...]
    carried: int
    lacking: int


def pmus_for(slots_bytes: int, read: Fraction | int, written: Fraction | int, machine: Machine) -> int:
    """PMUs of a buffer of so many bytes, read and written at these bytes per cycle. At least 1."""
    port = machine.pmu_bytes_per_cycle
    return max(1, -(-slots_bytes // machine.pmu_bytes), -(-read // port), -(-written // port))


def group(flow: Flow, name: str, pcus: int, machine: Machine, known: Grid | None = None) -> Group:
    """A stage on so many PCUs (0 for one that only moves bytes or sends them). known: its grid, if it is."""
    asked = flow.asked[name]
    work = known or grid(asked, flow.full_sizes[name], machine)
    return Group(pcus, work, rereads(asked, work, max(1, pcus)), cycles(work, pcus) if pcus else 0)


def slot_bytes(flow: Flow, link: Link) -> int:
    """Bytes that a link's source writes in one step of the pipes that it shares with the readers.

    Of a window's operand the first step is the greatest: later ones still have the elements that windows share.
    """
    if not flow.ends and link.level == len(flow.leaves[link.source].path) and link.source in flow.touched:
        return flow.touched[link.source][1]
    sizes = flow.sizes_at(link.source, link.level)
    sizes |= dict.fromkeys((FIRST + dim for dim in flow.ends), 1)
    if isinstance(flow.leaves[link.source].leaf, Load):
        return flow.load_bytes(link.source, sizes)
    return flow.asked[link.source].touched(sizes)[1]


def buffers(flow: Flow, groups: Mapping[str, Group], machine: Machine) -> Buffers | Shortage:
    """The buffers of a section, or what it lacks."""
    carried = sum(carry_pmus(flow, carry, machine) for carry in flow.metapipe.carries)
    # Of a stream of weights or states a single tile must be there.
    depths = [1 if _may_run_ahead(flow, link) else link.depth for link in flow.links]
    least = [Buffer(link, depth, slot_bytes(flow, link), 0) for link, depth in zip(flow.links, depths, strict=True)]
    least = [changed(b, pmus=pmus_for(b.slots * b.slot_bytes, 0, 0, machine)) for b in least]
    free = machine.pmus - carried - sum(buffer.pmus for buffer in least)
    if free < 0:
        greatest = max(least, key=lambda buffer: buffer.pmus)
        return Shortage("PMUs", machine.pmus - free, machine.pmus, _maker(flow, greatest.link), greatest.pmus)
    least = _with_tiles_under_way(flow, least, free, machine)
    free = machine.pmus - carried - sum([buffer.pmus for buffer in least])
    wanted = [_fast_enough(flow, buffer, groups, machine) for buffer in least]
    extra = sum(wanted) - sum(buffer.pmus for buffer in least)
    fast = [
        changed(buffer, pmus=buffer.pmus + (want - buffer.pmus) * min(free, extra) // max(1, extra))
        if want != buffer.pmus
        else buffer
        for buffer, want in zip(least, wanted, strict=True)
    ]
    left = machine.pmus - carried - sum(buffer.pmus for buffer in fast)
    ahead, missing = _read_ahead(flow, fast, left, machine)
    return Buffers(ahead, carried, max(0, extra - free) + missing)


def _with_tiles_under_way(flow: Flow, held: list[Buffer], free: int, machine: Machine) -> list[Buffer]:
    """More slots for sums over sockets, as far as PMUs are free: for all tiles that are under way at once."""
    found = []
    for buffer in held:
        wanted = slots_under_way(flow, buffer.link, machine)
        if wanted == buffer.slots:
            found.append(buffer)
            continue
        room = (buffer.pmus + free) * machine.pmu_bytes // max(1, buffer.slot_bytes)
        slots = min(wanted, max(buffer.slots, room))
        pmus = max(buffer.pmus, pmus_for(slots * buffer.slot_bytes, 0, 0, machine))
        free -= pmus - buffer.pmus
        found.append(changed(buffer, slots=slots, pmus=pmus))
    return found


def slots_under_way(flow: Flow, link: Link, machine: Machine) -> int:
    """The depth of a link, and for a sum over sockets as many more as are under way at the links' full pace."""
    asked = flow.asked.get(link.source)
    if asked is None or asked.unit_class != "network" or link.source in dict(flow.metapipe.depths):
        return link.depth
    latency_cycles = exchange(asked, flow.sizes_at(link.source), machine).latency_cycles
    each = exchange(asked, flow.sizes_at(link.source, link.level), machine)
    return min(link.tiles, link.depth + -(-latency_cycles // max(1, each.cycles)))


def carry_pmus(flow: Flow, carry: Carry, machine: Machine) -> int:
    """PMUs of what one iteration hands to the next."""
    whole = flow.asked[carry.source].touched(flow.metapipe.graph.sizes)[1]
    return pmus_for(carry.slots * whole, 0, 0, machine)


def _maker(flow: Flow, link: Link) -> str:
    """The node to name: the one that makes the tiles, or the first that reads them."""
    leaf = flow.leaves[link.source].leaf
    return flow.streams[link.source][0][0] if isinstance(leaf, Load) else link.source


def _fast_enough(flow: Flow, buffer: Buffer, groups: Mapping[str, Group], machine: Machine) -> int:
    """PMUs with which the buffer holds up neither its writer nor any reader."""
    read, written = paces(flow, buffer.link, groups, machine)
    return pmus_for(buffer.slots * buffer.slot_bytes, read, written, machine)


def paces(flow: Flow, link: Link, groups: Mapping[str, Group], machine: Machine) -> tuple[Fraction, Fraction]:
    """Bytes in a cycle that are read from a link, and written to it, where it holds nobody up."""
    each = [_read_pace(flow, link, reader, groups, machine) for reader in link.readers]
    read = each[0] if len(each) == 1 else sum([pace for pace in each if pace], NONE)
    return read, _write_pace(flow, link, groups, machine)


def _read_pace(flow: Flow, link: Link, reader: str, groups: Mapping[str, Group], machine: Machine) -> Fraction:
    """Bytes in a cycle that a stage takes from a link; one that only moves them takes what comes."""
    found = groups.get(reader)
    if found is None:
        return NONE
    if _only_moves(flow, reader):
        return _write_pace(flow, link, groups, machine)
    if not found.cycles:
        return NONE
    return Fraction(read_bytes(flow, reader, link.source, flow.touched[reader][0], found), found.cycles)


def read_bytes(flow: Flow, reader: str, source: str, touched: Sequence[int], on: Group) -> int:
    """Bytes that a stage reads of the tiles of an item in a step that touches so many of each operand.

    Each time that it streams them is counted.
    """
    leaf = flow.leaves[reader].leaf
    if not isinstance(leaf, Stage):
        return 0
    return sum(
        touched[number] * on.rereads[number]
        for number, names in enumerate(leaf.sources)
        if any(flow.roots[name] == source for name in names)
    )


def _only_moves(flow: Flow, name: str) -> bool:
    """Whether a stage has no PCUs, and works at the pace of its PMUs."""
    return name in flow.asked and flow.asked[name].unit_class == "memory"


def _write_pace(flow: Flow, link: Link, groups: Mapping[str, Group], machine: Machine) -> Fraction:
    """Bytes in a cycle that arrive: of a stage's tile in its cycles, of a stream its part of what its phase loads.

    Of a stage that only moves bytes as many as come to it. What is loaded only once has no pace to keep.
    """
    if link.source in groups:
        on = groups[link.source]
        read, made = flow.touched[link.source]
        if _only_moves(flow, link.source):
            before = [other for other in flow.links if link.source in other.readers]
            come = sum((_write_pace(flow, other, groups, machine) for other in before), Fraction(0))
            return come * made / max(1, sum(read))
        return Fraction(made, on.cycles) if on.cycles else NONE
    if link.tiles == 1:
        return NONE
    total = flow.streamed_beside(link.source)
    pace = first_memory(machine).pace
    return Fraction(pace.amount * flow.streamed[link.source], pace.cycles * total) if total else NONE


def _read_ahead(flow: Flow, held: list[Buffer], free: int, machine: Machine) -> tuple[tuple[Buffer, ...], int]:
    """With the slots of streams of weights and states, in PMUs that are free, and the PMUs that second slots lack."""
    room_bytes = machine.prefetch_bytes
    while True:
        found = _with_slots(flow, held, room_bytes, machine)
        more = sum(buffer.pmus for buffer in found) - sum(buffer.pmus for buffer in held)
        if more <= free:
            return tuple(found), 0
        if not room_bytes:
            return _cheapest(held, found, free), more - free
        # What a stream gets is rounded up to whole PMUs, so what is free does not say how many bytes fit.
        room_bytes = min(room_bytes // 2, free * machine.pmu_bytes)


def _with_slots(flow: Flow, held: list[Buffer], room_bytes: int, machine: Machine) -> list[Buffer]:
    numbers = [number for number, buffer in enumerate(held) if _may_run_ahead(flow, buffer.link)]
    iterations = flow.metapipe.iterations
    streams = [Stream(held[n].slot_bytes, -(-held[n].link.tiles // iterations)) for n in numbers]
    found = list(held)
    for number, slots in zip(numbers, slots_ahead(streams, room_bytes, machine), strict=True):
        buffer = held[number]
        slots = min(slots, buffer.link.tiles)
        pmus = max(buffer.pmus, pmus_for(slots * buffer.slot_bytes, 0, 0, machine))
        found[number] = changed(buffer, slots=slots, pmus=pmus)
    return found


def _cheapest(held: list[Buffer], wanted: list[Buffer], free: int) -> tuple[Buffer, ...]:
    """The buffers that are wanted, where PMUs are short as many as there is room for, those that take fewest first."""
    found = list(held)
    for number in sorted(range(len(held)), key=lambda number: wanted[number].pmus - held[number].pmus):
        more = wanted[number].pmus - held[number].pmus
        if more <= free:
            found[number], free = wanted[number], free - more
    return tuple(found)


def _may_run_ahead(flow: Flow, link: Link) -> bool:
    """Whether a link is of a stream of weights or states, whose slots nobody chose."""
    leaf = flow.leaves[link.source].leaf
    if not isinstance(leaf, Load) or link.source in dict(flow.metapipe.depths):
        return False
    graph = flow.metapipe.graph
    tensor = graph.tensor_named[leaf.tensor]
    return graph.tensor_named[tensor.shares or tensor.name].role in ("weight", "state")
