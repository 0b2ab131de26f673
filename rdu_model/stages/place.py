"""place: the units of each stage, the PMUs of each buffer and the AGCUs of each stream, by tile, with a map of the grid."""

from __future__ import annotations

from collections.abc import Iterator

from rdu_model.areas import areas_text, numbers_text, owner
from rdu_model.compilation import Compilation, Compiled
from rdu_model.compile_stage import Lines, Rows, Shown, title
from rdu_model.fabric import Fabric
from rdu_model.floor_map import floor_map, letters
from rdu_model.placement import Placed
from rdu_model.section import Section

RANK = 5
PLACED = True

LEGEND = """\
  A    PCUs of the stage with that letter; * of one without
  a    PMUs of its buffers, and of those that bring it what it reads; + of a stage without a letter
  .    a unit that nobody uses
  @    an AGCU that streams, o one that does not, at the edges of the tiles
Rows and columns are those of the tile, from 0; a rectangle may hold units of others, too."""


def show(compilation: Compilation, chosen: tuple[Compiled, ...]) -> tuple[Shown, ...]:
    """Where everything of each section is."""
    shown: list[Shown] = []
    for compiled in chosen:
        section = compiled.section
        if section.placed is not None:
            shown += [title(compiled), *_places(section, section.placed)]
    return (*shown, LEGEND)


def _places(section: Section, placed: Placed) -> Iterator[Shown]:
    letter, fabric, placement = letters(section, placed), placed.fabric, placed.placement
    yield _by_tile(placed)
    yield Lines(floor_map(section, placed))
    stages = [(letter.get(name, ""), name, len(cells), areas_text(fabric, cells)) for name, cells in placement.pcus.items()]
    if stages:
        yield Rows(("", "stage", "PCUs", "where"), tuple(stages), keys=2)
    sources = {link.name: link.source for link in section.flow.links}
    buffers = []
    for name, cells in placement.pmus.items():
        sign = letter.get(owner(section, sources.get(name, name)), "").lower()
        buffers.append((sign, name, len(cells), areas_text(fabric, cells)))
    yield Rows(("", "buffer of", "PMUs", "where"), tuple(buffers), keys=2)
    streams = [(name, numbers_text(numbers), _edges(fabric, numbers)) for name, numbers in placement.agcus.items()]
    if streams:
        yield Rows(("stream", "AGCUs", "at the edges of"), tuple(streams))


def _edges(fabric: Fabric, numbers: tuple[int, ...]) -> str:
    tiles = sorted({fabric.tile_of(fabric.agcus[number]) for number in numbers})
    return f"tile{'s' if len(tiles) > 1 else ''} {numbers_text(tiles)}"


def _by_tile(placed: Placed) -> Rows:
    """Units in use and units there are, by tile."""
    fabric, placement = placed.fabric, placed.placement
    used = {
        "PCUs": [cell for cells in placement.pcus.values() for cell in cells],
        "PMUs": [cell for cells in placement.pmus.values() for cell in cells],
        "AGCUs": [fabric.agcus[number] for number in {n for numbers in placement.agcus.values() for n in numbers}],
    }
    there = {"PCUs": fabric.pcus, "PMUs": fabric.pmus, "AGCUs": fabric.agcus}
    tiles = sorted({fabric.tile_of(cell) for cell in range(len(fabric.kinds))})
    rows = []
    for tile in tiles:
        counts = [
            (sum(fabric.tile_of(cell) == tile for cell in used[what]), sum(fabric.tile_of(cell) == tile for cell in all_of))
            for what, all_of in there.items()
        ]
        rows.append((f"{tile}", *(f"{mine:,} of {whole:,}" for mine, whole in counts)))
    return Rows(("tile", *there), tuple(rows))
