"""place: the units of each stage, the PMUs of each buffer and the AGCUs of each stream, with a map of the grid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from rdu_model.compilation import Compilation, Compiled
from rdu_model.compile_stage import NOT_PLACED, Cell, Lines, Rows, Shown, title
from rdu_model.floor.areas import areas, numbers_text, owner
from rdu_model.floor.fabric import Fabric
from rdu_model.floor.floor_map import floor_map, letters
from rdu_model.floor.placement import Placed
from rdu_model.section import Section

RANK = 6
PLACED = True

LEGEND = """\
  A            PCUs of the stage with that letter; * of a stage without one
  a            PMUs of its buffers, and of those that bring it what it reads; + of a stage without a letter
  .            a unit that nobody uses
  @            at the edges of the tiles: an AGCU that streams; o one that does not
  0-12x0-25 8  8 units in rows 0 to 12, columns 0 to 25 of the tile; units of others may lie between them"""


def show(compilation: Compilation, chosen: tuple[Compiled, ...]) -> tuple[Shown, ...]:
    """Where everything of each section is."""
    shown: list[Shown] = []
    for compiled in chosen:
        placed = compiled.section.placed
        shown += [title(compiled), *([NOT_PLACED] if placed is None else _places(compiled.section, placed))]
    return (*shown, LEGEND)


def _places(section: Section, placed: Placed) -> Iterator[Shown]:
    letter, fabric, placement = letters(section, placed), placed.fabric, placed.placement
    sources = {link.name: link.source for link in section.flow.links}
    yield _by_tile(placed)
    yield Lines(floor_map(section, placed), is_map=True)
    yield from _where(
        "stage", "PCUs", fabric, [(letter.get(name, ""), name, at) for name, at in placement.pcus.items()]
    )
    held = [(owner(section, sources.get(name, name)), name, at) for name, at in placement.pmus.items()]
    yield from _where("buffer of", "PMUs", fabric, [(letter.get(of, "").lower(), name, at) for of, name, at in held])
    streams = [
        (name, numbers_text(numbers), numbers_text({fabric.tile_of(fabric.agcus[number]) for number in numbers}))
        for name, numbers in placement.agcus.items()
    ]
    if streams:
        yield Rows(("stream", "AGCUs", "at the edges of tiles"), tuple(streams))


def _where(what: str, units: str, fabric: Fabric, groups: list[tuple[str, str, tuple[int, ...]]]) -> Iterator[Rows]:
    """A row for each (letter, name, cells) and a column for each tile that has some of the cells."""
    found = [(sign, name, cells, {area.tile: area for area in areas(fabric, cells)}) for sign, name, cells in groups]
    tiles = sorted({tile for *_, by_tile in found for tile in by_tile})
    rows: list[tuple[Cell, ...]] = []
    for sign, name, cells, by_tile in found:
        rows.append((sign, name, len(cells), *(by_tile[tile].short if tile in by_tile else "" for tile in tiles)))
    if rows:
        yield Rows(("", what, units, *(f"tile {tile}" for tile in tiles)), tuple(rows), keys=2)


def _by_tile(placed: Placed) -> Rows:
    """Units in use and units there are, by tile."""
    fabric, placement = placed.fabric, placed.placement
    streaming = {number for numbers in placement.agcus.values() for number in numbers}
    there = {"PCUs": fabric.pcus, "PMUs": fabric.pmus, "AGCUs": fabric.agcus}
    used = {
        "PCUs": [cell for cells in placement.pcus.values() for cell in cells],
        "PMUs": [cell for cells in placement.pmus.values() for cell in cells],
        "AGCUs": [fabric.agcus[number] for number in streaming],
    }
    whole = {what: _count(fabric, cells) for what, cells in there.items()}
    mine = {what: _count(fabric, cells) for what, cells in used.items()}
    tiles = sorted({tile for counts in whole.values() for tile in counts})
    rows = ((f"{tile}", *(f"{mine[what][tile]:,} of {whole[what][tile]:,}" for what in there)) for tile in tiles)
    return Rows(("tile", *there), tuple(rows))


def _count(fabric: Fabric, cells: Iterable[int]) -> Counter[int]:
    return Counter(fabric.tile_of(cell) for cell in cells)
