"""Where a group of units lies on the grid, in words: the rectangle around it in each tile, and what has a cell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rdu_model.floor.fabric import Fabric
from rdu_model.floor.placement import Placed
from rdu_model.pipe import Stage
from rdu_model.section import Section


@dataclass(frozen=True)
class Area:
    """The rectangle around some units of one tile; rows and columns count from 0 in the tile, the last included."""

    tile: int
    rows: tuple[int, int]
    columns: tuple[int, int]
    units: int

    @property
    def text(self) -> str:
        """For people."""
        return f"tile {self.tile} rows {_span(self.rows)} columns {_span(self.columns)}: {self.units:,}"

    @property
    def short(self) -> str:
        """For a table."""
        return f"{_span(self.rows)}x{_span(self.columns)} {self.units:,}"


def _span(ends: tuple[int, int]) -> str:
    first, last = ends
    return f"{first}" if first == last else f"{first}-{last}"


def areas(fabric: Fabric, cells: Iterable[int]) -> tuple[Area, ...]:
    """The areas of some cells, by tile."""
    by_tile: dict[int, list[tuple[int, int]]] = {}
    for cell in cells:
        row, column = fabric.row_column(cell)
        place = row % fabric.tile_rows, column % fabric.tile_columns
        by_tile.setdefault(fabric.tile_of(cell), []).append(place)
    return tuple(_around(tile, places) for tile, places in sorted(by_tile.items()))


def _around(tile: int, places: list[tuple[int, int]]) -> Area:
    rows, columns = [row for row, _ in places], [column for _, column in places]
    return Area(tile, (min(rows), max(rows)), (min(columns), max(columns)), len(places))


def areas_text(fabric: Fabric, cells: Iterable[int]) -> str:
    """The areas of some cells in a line."""
    return ", ".join(area.text for area in areas(fabric, cells))


def numbers_text(numbers: Iterable[int]) -> str:
    """Whole numbers with runs drawn together: '0-3, 7'."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(_span((first, last)) for first, last in runs)


def owner(section: Section, item: str) -> str:
    """The stage that an item belongs to: itself, the one that carries it on, or the first that reads what it brings.

    What is only stored again belongs to its store.
    """
    for carry in section.flow.metapipe.carries:
        if carry.name == item:
            return carry.source
    seen: set[str] = set()
    while item not in seen and not isinstance(section.flow.leaves[item].leaf, Stage):
        seen.add(item)
        readers = [reader for link in section.flow.links if link.source == item for reader in link.readers]
        item = min(readers, key=lambda name: not isinstance(section.flow.leaves[name].leaf, Stage), default=item)
    return item


def owners(section: Section, placed: Placed) -> Mapping[int, str]:
    """The stage that each used cell works for: PCUs their own, PMUs of a buffer the one that it belongs to."""
    sources = {link.name: link.source for link in section.flow.links}
    found = {cell: stage for stage, cells in placed.placement.pcus.items() for cell in cells}
    for link, cells in placed.placement.pmus.items():
        found |= dict.fromkeys(cells, owner(section, sources.get(link, link)))
    return found
