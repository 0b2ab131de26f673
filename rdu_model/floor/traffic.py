"""Who sends what to whom in a section, unit by unit: the flows that place and route carry over the mesh.

Tiles are spread over units in order: part 3 of 8 of a tile is made by the PCUs, held by the PMUs and read by the PCUs
that stand three eighths down their group. Of an operand that several PCUs need, each part goes to all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Literal

from rdu_model.buffers import carry_pmus
from rdu_model.floor.rates import Rates, moved_bytes, rates_of
from rdu_model.machine import Machine
from rdu_model.pipe import Load, Stage
from rdu_model.price import spread
from rdu_model.section import Section

Units = tuple[int, ...]
Along = Literal["", "row", "column"]
# For each part of a tile, in order, the units that it goes to.
Parts = Sequence[Units]


@dataclass(frozen=True)
class Net:
    """The same bytes from one unit to one or several. reader: who reads a link's buffer, '' for who fills it.

    along: whether the targets should stand in a row of the grid, or in a column ('' for no matter): PCUs that share out
    a product in two dimensions get one operand along their rows, the other along their columns.
    """

    link: str
    reader: str
    source: int
    targets: Units
    bytes_per_cycle: float
    phase: str
    along: Along = ""


@dataclass(frozen=True)
class Traffic:
    """units: numbers of the PCUs of stages, of the PMUs of links and carries, of the AGCU streams of leaves.

    All are numbered through: PCUs, then PMUs, then AGCU streams.
    """

    pcus: Mapping[str, Units]
    pmus: Mapping[str, Units]
    agcus: Mapping[str, Units]
    nets: tuple[Net, ...]
    rates: Rates

    @property
    def count(self) -> int:
        """Units in all."""
        return sum(len(units) for group in (self.pcus, self.pmus, self.agcus) for units in group.values())


def traffic_of(section: Section) -> Traffic:
    """The units that a section needs, and every flow between them."""
    rates = rates_of(section)
    numbers = iter(range(1 << 30))
    pcus = {name: _take(numbers, group.pcus) for name, group in section.groups.items() if group.pcus}
    pmus = {buffer.link.name: _take(numbers, buffer.pmus) for buffer in section.buffers}
    for carry in section.flow.metapipe.carries:
        pmus[carry.name] = _take(numbers, carry_pmus(section.flow, carry, section.machine))
    agcus = {name: _take(numbers, count) for name, count in streams_of(section, rates).items()}
    drawing = _Drawing(section, rates, pcus, pmus, agcus)
    for held in held_by(section):
        drawing.fill(held.name, held.source)
        for reader, operands in held.readers:
            drawing.drain(held.name, reader, operands)
    return Traffic(pcus, pmus, agcus, tuple(drawing.nets), rates)


@dataclass(frozen=True)
class Held:
    """PMUs that hold tiles: a link's buffer, or a carry. readers: each with the positions of its reads of them."""

    name: str
    source: str
    pmus: int
    readers: tuple[tuple[str, tuple[int, ...]], ...]


def held_by(section: Section) -> Iterator[Held]:
    """Everything that a section holds in PMUs, and who reads it."""
    flow = section.flow
    for buffer in section.buffers:
        link = buffer.link
        readers = tuple((reader, tuple(_reads(section, link.source, reader))) for reader in link.readers)
        yield Held(link.name, link.source, buffer.pmus, readers)
    for carry in flow.metapipe.carries:
        inside = {name for name, result in flow.metapipe.of_block.carried if result == carry.tensor}
        reads = {reader: flow.asked[reader].node.reads for reader in carry.readers}
        readers = tuple(
            (reader, tuple(number for number, read in enumerate(found) if read in inside))
            for reader, found in reads.items()
        )
        yield Held(carry.name, carry.source, carry_pmus(flow, carry, section.machine), readers)


def _reads(section: Section, source: str, reader: str) -> Iterator[int]:
    leaf = section.flow.leaves[reader].leaf
    if isinstance(leaf, Stage):
        for number, names in enumerate(leaf.sources):
            if any(section.flow.roots[name] == source for name in names):
                yield number


def streams_of(section: Section, rates: Rates) -> dict[str, int]:
    """AGCU streams of each load, store and exchange: as many as are asked for, or as its bytes need several times over.

    A stream has the memory for itself at times, and then it should keep up with it.
    """
    machine = section.machine
    most = machine.agcus * machine.agcu_streams
    asking = tuple(_asking(section, rates))
    stored = {f"store {carry.tensor}": 1 for carry in section.flow.metapipe.carries if carry.stored}
    for headroom in range(machine.agcu_streams, 0, -1):
        found = {
            name: _streams(machine, fixed, pace, routes, headroom) for name, fixed, pace, routes in asking
        } | stored
        if sum(found.values()) <= most:
            return found
    # Those with most give some up; what was written with row_par keeps it.
    leaves = section.flow.leaves
    free = [name for name in found if name not in leaves or not getattr(leaves[name].leaf, "row_par", 0)]
    while sum(found.values()) > most and any(found[name] > 1 for name in free):
        found[max(free, key=lambda name: found[name])] -= 1
    return found


def _streams(machine: Machine, fixed: int, pace: float, routes: int, headroom: int) -> int:
    needed = max(routes, -int(-headroom * pace // machine.agcu_bytes_per_cycle))
    return min(machine.agcus, max(1, fixed or needed))


def _asking(section: Section, rates: Rates) -> Iterator[tuple[str, int, float, int]]:
    """Each load, store and exchange with the streams that it was given, its bytes in a cycle and its routes."""
    machine, flow = section.machine, section.flow
    held: dict[str, int] = {}
    for buffer in section.buffers:
        for name in (buffer.link.source, *buffer.link.readers):
            held[name] = max(held.get(name, 0), buffer.pmus)
    for name, place in flow.leaves.items():
        leaf = place.leaf
        if isinstance(leaf, Stage) and flow.asked[name].unit_class != "network":
            continue
        pace = rates.per_cycle(name, moved_bytes(section, name))
        # Each AGCU has a route to every PMU that it feeds or empties, and not more of them than its first link carries.
        routes = -(-held.get(name, 1) // (machine.mesh_links * machine.mesh_flows))
        yield name, leaf.row_par if isinstance(leaf, Load) else 0, pace, routes


def _take(numbers: Iterator[int], count: int) -> Units:
    return tuple(next(numbers) for _ in range(count))


@dataclass(frozen=True)
class _Drawing:
    """Draws the nets of one link after another."""

    section: Section
    rates: Rates
    pcus: Mapping[str, Units]
    pmus: Mapping[str, Units]
    agcus: Mapping[str, Units]
    nets: list[Net] = field(default_factory=list)

    def fill(self, link: str, source: str) -> None:
        """From whoever makes the tiles into the PMUs. What only moves bytes does so from PMUs to PMUs."""
        makers = self.agcus.get(source) or self._working(source)
        pace = self.rates.per_cycle(source, moved_bytes(self.section, source))
        self._between(link, "", makers, [(unit,) for unit in self.pmus[link]], pace, self.rates.phases[source])

    def drain(self, link: str, reader: str, numbers: Sequence[int]) -> None:
        """From the PMUs to a reader: the operands, by position, that it reads there; all its tile if it has none."""
        for number in numbers:
            self._operand(link, reader, number)
        if reader in self.agcus and not numbers:
            pace = self.rates.per_cycle(reader, moved_bytes(self.section, reader))
            ends = [(unit,) for unit in self.agcus[reader]]
            self._between(link, reader, self.pmus[link], ends, pace, self.rates.phases[reader])

    def _operand(self, link: str, reader: str, number: int) -> None:
        flow, group = self.section.flow, self.section.groups[reader]
        touched = flow.touched[reader][0][number]
        pace = self.rates.per_cycle(reader, touched * group.rereads[number] * flow.tiles_of(reader))
        along = _along(self.section, reader, number)
        parts = self._parts(reader, number)
        self._between(link, reader, self.pmus[link], parts, pace, self.rates.phases[reader], along)

    def _parts(self, reader: str, number: int) -> Parts:
        """For each part of an operand, in order, the units that need it."""
        if reader in self.agcus:
            return [(unit,) for unit in self.agcus[reader]]
        units = self._working(reader)
        if not units:
            return self._moved_to(reader)
        parts, each = fan_out(self.section, reader, number)
        asked, group = self.section.flow.asked[reader], self.section.groups[reader]
        if asked.unit_class == "matrix" and number == asked.column_read:
            grouped, rows, columns = splits(group.work.blocks, group.pcus)
            return [units[g * rows * columns + c :: columns][:rows] for g in range(grouped) for c in range(columns)]
        if asked.unit_class == "matrix":
            return [units[part * each : (part + 1) * each] for part in range(parts)]
        return [units[part * len(units) // parts : (part + 1) * len(units) // parts] for part in range(parts)]

    def _working(self, stage: str) -> Units:
        """The PCUs of a stage that have work."""
        units = self.pcus.get(stage, ())
        return units[: working_pcus(self.section, stage)] if units else units

    def _moved_to(self, stage: str) -> Parts:
        """Where what only moves bytes puts them: the PMUs of its result."""
        held = [buffer.link.name for buffer in self.section.buffers if buffer.link.source == stage]
        held += [carry.name for carry in self.section.flow.metapipe.carries if carry.source == stage]
        return [(unit,) for name in held for unit in self.pmus[name]]

    def _between(
        self, link: str, reader: str, units: Units, parts: Parts, pace: float, phase: str, along: Along = ""
    ) -> None:
        """Bytes that are spread over units, to parts of a reader: as many flows as the finer of both has pieces."""
        pieces = max(len(units), len(parts)) if units and parts else 0
        for piece in range(pieces):
            source, targets = units[piece * len(units) // pieces], parts[piece * len(parts) // pieces]
            self.nets.append(Net(link, reader, source, targets, pace / pieces, phase, along))


def working_pcus(section: Section, stage: str) -> int:
    """The PCUs of a stage that have work: what is left when its grid is cut evenly has none."""
    group = section.groups[stage]
    if section.flow.asked[stage].unit_class != "matrix" or not group.pcus:
        return group.pcus
    return prod(splits(group.work.blocks, group.pcus))


def fan_out(section: Section, reader: str, number: int) -> tuple[int, int]:
    """In how many parts an operand of a stage comes, and how many of the stage's PCUs need each."""
    asked, group = section.flow.asked[reader], section.groups[reader]
    if asked.unit_class == "matrix":
        grouped, rows, columns = splits(group.work.blocks, group.pcus)
        return (grouped * columns, rows) if number == asked.column_read else (grouped * rows, columns)
    touched, _ = section.flow.touched[reader]
    parts = max(1, group.pcus * touched[number] // max(1, *touched))
    return parts, -(-group.pcus // parts)


def _along(section: Section, reader: str, number: int) -> Along:
    """How the PCUs that need the same part of an operand should stand."""
    asked, group = section.flow.asked[reader], section.groups[reader]
    if asked.unit_class != "matrix":
        return ""
    _, rows, columns = splits(group.work.blocks, group.pcus)
    if rows == 1 or columns == 1:
        return ""
    return "column" if number == asked.column_read else "row"


def splits(blocks: tuple[int, ...], pcus: int) -> tuple[int, ...]:
    """In how many parts each axis of a stage's grid is cut over so many PCUs."""
    return tuple(-(-total // each) for total, each in zip(blocks, spread(blocks, pcus), strict=True))
