"""Hops and congestion without a grid, in closed form: what the ways of a section cost where it is not placed.

A group of n units covers about sqrt(n) x sqrt(n) places, and neighbours in the pipeline stand side by side. The
constants are fitted to placements on SN40L of Llama's sections and operators, GEMM, softmax and attention.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import sqrt

from patterns.pipeline.hashed import made_directly
from rdu_model.floor.rates import ALWAYS, Rates, moved_bytes, rates_of
from rdu_model.floor.traffic import Held, fan_out, held_by, streams_of, working_pcus
from rdu_model.floor.wires import Wire
from rdu_model.machine import Machine, grid_columns, grid_rows
from rdu_model.section import Section

# The longest way of a leg has FANNED sides of the area of one unit's partners, and SPREAD times the fourth root of the
# greater group's area, less NEXT: parts of a tile that meet are near one another, but some stand at the wrong end.
FANNED, SPREAD, NEXT = 1.0, 4.0, 3.0
# From an AGCU it has half the width of a tile, and so much of the side of the area of the PMUs.
STREAMED = 1.3
# The longest of many ways also crosses borders between tiles oftener than a mean one.
BORDERS = 1.5
# Links of a mean byte's way: what moves most is nearest. From and to AGCUs a part of the longest.
LINKS, LINKS_STREAMED = 5.0, 0.3
# n ways side by side have together as much as n to this power of them alone: some share an edge.
APART = 0.87


@made_directly
@dataclass(frozen=True)
class Leg:
    """The way into PMUs (reader ''), or from them to one reader.

    ways: flows side by side. fan: units that one unit at an end exchanges with; copies: those of them that get the same
    bytes. widest: places of the greater group. streamed: whether AGCUs are at one end.
    """

    link: str
    reader: str
    ways: int
    fan: float
    copies: int
    widest: float
    streamed: int
    bytes_per_cycle: float
    phase: str


@dataclass(frozen=True)
class Estimate:
    """What the ways of a section cost. byte_hops: bytes in a cycle times links. busiest: the fullest edge, as a part of
    what it carries.
    """

    wires: Mapping[str, Wire]
    byte_hops: float
    busiest: float


def estimate(section: Section) -> Estimate:
    """The ways of a section by formula."""
    machine = section.machine
    everything = tuple(held_by(section))
    legs = tuple(_legs(section, rates_of(section), everything))
    hops = [_hops(leg, machine) for leg in legs]
    drawn = [leg.bytes_per_cycle * _links(leg, far, machine) for leg, far in zip(legs, hops, strict=True)]
    around: dict[str, float] = {}
    for leg, amount in zip(legs, drawn, strict=True):
        # Each place that is used has a link to each of four neighbours.
        around[leg.phase] = around.get(leg.phase, 0.0) + amount / (4 * max(1, section.pcus + section.pmus))
    always = around.get(ALWAYS, 0.0)
    beside = [around[leg.phase] + (always if leg.phase != ALWAYS else 0.0) for leg in legs]
    paces = [_pace(leg, load, machine) for leg, load in zip(legs, beside, strict=True)]
    found: dict[str, list[int]] = {}
    for number, leg in enumerate(legs):
        found.setdefault(leg.link, []).append(number)
    wires: dict[str, Wire] = {}
    for held in everything:
        into = [n for n in found.get(held.name, ()) if not legs[n].reader]
        out = {legs[n].reader: n for n in found.get(held.name, ()) if legs[n].reader}
        longest = sum(max((hops[n] for n in way), default=0.0) for way in (into, out.values()))
        written = min((paces[n] for n in into), default=0.0)
        read = tuple(paces[out[reader]] if reader in out else 0.0 for reader, _ in held.readers)
        wires[held.name] = Wire(_latency(longest, machine), round(longest), written, read)
    busiest = max(
        (leg.bytes_per_cycle / leg.ways**APART + load for leg, load in zip(legs, beside, strict=True)), default=0
    )
    return Estimate(wires, sum(drawn), busiest / (machine.mesh_links * machine.mesh_bytes_per_cycle))


def _legs(section: Section, rates: Rates, everything: tuple[Held, ...]) -> Iterator[Leg]:
    streams = streams_of(section, rates)
    held_of: dict[str, int] = {}
    for held in everything:
        held_of[held.source] = held_of.get(held.source, 0) + held.pmus
    for held in everything:
        yield from _filled(section, rates, held, streams)
        for reader, numbers in held.readers:
            yield from _drained(section, rates, held, reader, numbers, streams, held_of.get(reader, 1))


def _filled(section: Section, rates: Rates, held: Held, streams: Mapping[str, int]) -> Iterator[Leg]:
    source = held.source
    makers = streams.get(source) or working_pcus(section, source)
    if makers:
        pace, phase = rates.per_cycle(source, moved_bytes(section, source)), rates.phases[source]
        yield _leg(section, held, "", makers, makers, 1, streams.get(source, 0), pace, phase)


def _drained(
    section: Section,
    rates: Rates,
    held: Held,
    reader: str,
    numbers: tuple[int, ...],
    streams: Mapping[str, int],
    put: int,
) -> Iterator[Leg]:
    """put: PMUs that hold what the reader makes, to which one that only moves bytes moves them."""
    phase = rates.phases[reader]
    if reader in streams:
        pace = rates.per_cycle(reader, moved_bytes(section, reader))
        yield _leg(section, held, reader, streams[reader], streams[reader], 1, streams[reader], pace, phase)
        return
    group, flow = section.groups[reader], section.flow
    touched, _ = flow.touched[reader]
    pace = rates.per_cycle(reader, sum(touched[n] * group.rereads[n] for n in numbers) * flow.tiles_of(reader))
    if not group.pcus:
        yield _leg(section, held, reader, put, put, 1, 0, pace, phase)
    elif numbers:
        parts, copies = max((fan_out(section, reader, n) for n in numbers), key=lambda found: found[1])
        yield _leg(section, held, reader, working_pcus(section, reader), parts, copies, 0, pace, phase)


def _leg(
    section: Section,
    held: Held,
    reader: str,
    units: int,
    parts: int,
    copies: int,
    streams: int,
    pace: float,
    phase: str,
) -> Leg:
    """units: at the other end of the way, which get `parts` parts, each `copies` of them."""
    places = section.machine.pcus + section.machine.pmus
    per_pmu = places / section.machine.pmus
    per_unit = 0.0 if streams else places / section.machine.pcus if section.pcus else per_pmu
    fan = max(copies * per_unit, units / held.pmus * per_unit, held.pmus / units * per_pmu if copies == 1 else 0.0)
    widest = max(units * per_unit, held.pmus * per_pmu)
    return Leg(held.name, reader, max(1, min(held.pmus, parts)), fan, copies, widest, streams, pace, phase)


def _hops(leg: Leg, machine: Machine) -> float:
    """Links of the longest way."""
    if leg.streamed:
        return machine.tile_columns / 2 + STREAMED * sqrt(leg.widest)
    return max(1.0, FANNED * sqrt(leg.fan) + SPREAD * sqrt(sqrt(leg.widest)) - NEXT)


def _links(leg: Leg, hops: float, machine: Machine) -> float:
    """Links of a flow for a mean byte; a tree has as many as its copies have places."""
    if leg.copies > 1:
        return leg.copies * (machine.pcus + machine.pmus) / machine.pcus
    return LINKS_STREAMED * hops if leg.streamed else min(LINKS, hops)


def _latency(hops: float, machine: Machine) -> int:
    """Cycles of a way: its links, and the borders between tiles that are likely on it."""
    rows, columns = grid_rows(machine), grid_columns(machine)
    across, down = columns // machine.tile_columns, rows // machine.tile_rows
    borders = hops * BORDERS * ((across - 1) / columns + (down - 1) / rows) / 2
    return round(hops * machine.hop_cycles + borders * machine.crossing_cycles)


def _pace(leg: Leg, around: float, machine: Machine) -> float:
    """Bytes in a cycle that the ways side by side have, where `around` is the load of a mean edge."""
    capacity = machine.mesh_links * machine.mesh_bytes_per_cycle
    ways = float(leg.ways**APART)
    fullest = leg.bytes_per_cycle / ways + around
    return leg.bytes_per_cycle * capacity / fullest if fullest > capacity else ways * (capacity - around)
