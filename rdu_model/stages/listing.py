"""listing: the placed program of each section: its metapipes, and below each item its units and its ways."""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch

from patterns.plural import number_of
from rdu_model.buffers import Buffer
from rdu_model.compilation import Compilation, Compiled
from rdu_model.compile_stage import Lines, Shown, title
from rdu_model.floor.areas import areas_text, numbers_text
from rdu_model.floor.placement import Placed
from rdu_model.floor.wires import Wire
from rdu_model.language.vocabulary import in_columns, statements
from rdu_model.pipe import Carry, Leaf, Load, Pipe, Stage, Store
from rdu_model.section import Section
from rdu_model.stages.metapipe import note

RANK = 8
PLACED = True


def show(compilation: Compilation, chosen: tuple[Compiled, ...]) -> tuple[Shown, ...]:
    """The placed programs."""
    return tuple(Lines((*_head(compiled), *in_columns(_lines(compiled.section)).lines)) for compiled in chosen)


def _head(compiled: Compiled) -> Iterator[str]:
    section = compiled.section
    machine = section.machine
    yield f"section {title(compiled)}"
    yield (
        f"on {machine.name}, {number_of(section.members, 'socket')}: {number_of(machine.tiles, 'tile')} of "
        f"{machine.tile_rows} x {machine.tile_columns}, {machine.pcus:,} PCUs, {machine.pmus:,} PMUs, "
        f"{machine.agcus} AGCUs"
    )
    yield ""


def _lines(section: Section) -> Iterator[tuple[int, str, str]]:
    """(depth, text, note): each statement with what it takes, then its places further in."""
    for statement in statements(section):
        yield statement.depth, statement.text, note(statement.about, section) if statement.about else ""
        if section.placed is not None and statement.about is not None:
            for line in places(statement.about, section, section.placed):
                yield statement.depth + 1, line, ""


@singledispatch
def places(about: Leaf | Buffer | Carry | Pipe, section: Section, placed: Placed) -> tuple[str, ...]:
    """Where the units of a statement are, a line each; nothing for what has none."""
    return ()


@places.register
def _(about: Stage, section: Section, placed: Placed) -> tuple[str, ...]:
    cells = placed.placement.pcus.get(about.name, ())
    ports = placed.placement.agcus.get(about.name, ())
    found = [f"pcus {areas_text(placed.fabric, cells)}"] if cells else []
    return (*found, *_agcus(ports, placed))


@places.register
def _(about: Load, section: Section, placed: Placed) -> tuple[str, ...]:
    return _agcus(placed.placement.agcus.get(about.name, ()), placed)


@places.register
def _(about: Store, section: Section, placed: Placed) -> tuple[str, ...]:
    return _agcus(placed.placement.agcus.get(about.name, ()), placed)


@places.register
def _(about: Buffer, section: Section, placed: Placed) -> tuple[str, ...]:
    name = about.link.name
    pmus = f"pmus {areas_text(placed.fabric, placed.placement.pmus.get(name, ()))}"
    return (pmus, _way(section.wire(name), sum(route.link == name for route in placed.routes.routes)))


@places.register
def _(about: Carry, section: Section, placed: Placed) -> tuple[str, ...]:
    stored = placed.placement.agcus.get(f"store {about.tensor}", ())
    return (f"pmus {areas_text(placed.fabric, placed.placement.pmus.get(about.name, ()))}", *_agcus(stored, placed))


def _way(wire: Wire, flows: int) -> str:
    """The way of a link's tiles: in is into the PMUs, out to the reader that gets least."""
    told = [number_of(flows, "flow"), number_of(wire.hops, "hop"), number_of(wire.latency_cycles, "cycle")]
    out = min((pace for pace in wire.read_bytes_per_cycle if pace), default=0.0)
    told += [f"at most {wire.bytes_per_cycle:,.1f} B/cycle in"] if wire.bytes_per_cycle else []
    told += [f"at most {out:,.1f} B/cycle out"] if out else []
    return f"way {', '.join(told)}"


def _agcus(numbers: tuple[int, ...], placed: Placed) -> tuple[str, ...]:
    """The numbers of AGCUs, and the tiles that they stand at."""
    if not numbers:
        return ()
    tiles = {placed.fabric.tile_of(placed.fabric.agcus[number]) for number in numbers}
    return (f"agcus {numbers_text(numbers)} at tile {numbers_text(tiles)}",)
