"""The fabric: the grid of a socket's units, one mesh of switches over all its tiles, AGCUs at the tiles' edges.

A cell is a place of the grid with its switch, numbered row by row. Units of a tile follow one another along a snake,
PCUs and PMUs spread evenly: in turn where there are as many of both, so that the grid is a checkerboard.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from patterns.errors import UserError
from rdu_model.machine import Machine, grid_columns, grid_rows

Kind = Literal["pcu", "pmu", ""]
# A link of the mesh in one direction: from a cell to a neighbour.
Edge = tuple[int, int]


@dataclass(frozen=True)
class Fabric:
    """kinds: of each cell's unit, '' where a machine has fewer units than places. agcus: the cell of each AGCU."""

    rows: int
    columns: int
    tile_rows: int
    tile_columns: int
    kinds: tuple[Kind, ...]
    agcus: tuple[int, ...]

    @cached_property
    def pcus(self) -> tuple[int, ...]:
        """The cells of PCUs."""
        return tuple(cell for cell, kind in enumerate(self.kinds) if kind == "pcu")

    @cached_property
    def pmus(self) -> tuple[int, ...]:
        """The cells of PMUs."""
        return tuple(cell for cell, kind in enumerate(self.kinds) if kind == "pmu")

    def cell(self, row: int, column: int) -> int:
        """The cell in a row and a column."""
        return row * self.columns + column

    def row_column(self, cell: int) -> tuple[int, int]:
        """Where a cell is."""
        return divmod(cell, self.columns)

    def tile_of(self, cell: int) -> int:
        """The tile that a cell is in; tiles are numbered row by row."""
        row, column = self.row_column(cell)
        return row // self.tile_rows * (self.columns // self.tile_columns) + column // self.tile_columns

    def hops(self, one: int, other: int) -> int:
        """Links between two cells' switches."""
        (row, column), (to_row, to_column) = self.row_column(one), self.row_column(other)
        return abs(row - to_row) + abs(column - to_column)

    def crossings(self, one: int, other: int) -> int:
        """Borders between tiles on the way from a cell to another."""
        (row, column), (to_row, to_column) = self.row_column(one), self.row_column(other)
        return abs(row // self.tile_rows - to_row // self.tile_rows) + abs(
            column // self.tile_columns - to_column // self.tile_columns
        )


def fabric_of(machine: Machine) -> Fabric:
    """The grid of a machine; places that it has no units for are empty. Raises UserError for more units than places."""
    check_grid(machine)
    rows, columns = grid_rows(machine), grid_columns(machine)
    kinds: list[Kind] = [""] * (rows * columns)
    for tile in range(machine.tiles):
        top, left = tile // machine.tiles_across * machine.tile_rows, tile % machine.tiles_across * machine.tile_columns
        own_pcus, own_pmus = _share(machine.pcus, machine.tiles, tile), _share(machine.pmus, machine.tiles, tile)
        for place, kind in enumerate(_spread(own_pcus, own_pmus, machine.tile_rows * machine.tile_columns)):
            row, along = divmod(place, machine.tile_columns)
            column = machine.tile_columns - 1 - along if row % 2 else along
            kinds[(top + row) * columns + left + column] = kind
    return Fabric(rows, columns, machine.tile_rows, machine.tile_columns, tuple(kinds), _edges(machine, columns))


def check_grid(machine: Machine) -> None:
    """Raises UserError for a machine whose units have no room on its grid, or whose tiles are no rectangle."""
    units, places = machine.pcus + machine.pmus, machine.tiles * machine.tile_rows * machine.tile_columns
    if machine.tiles % machine.tiles_across:
        raise UserError(
            f"{machine.name}: {machine.tiles} tiles, {machine.tiles_across} of them side by side, are no rectangle; "
            "tiles must be a multiple of tiles_across"
        )
    if units > places:
        rows = -(-units // (machine.tiles * machine.tile_columns))
        raise UserError(
            f"{machine.name}: {machine.pcus:,} PCUs and {machine.pmus:,} PMUs are {units:,} units, but its grid "
            f"(tiles x tile_rows x tile_columns = {machine.tiles} x {machine.tile_rows} x {machine.tile_columns}) "
            f"has {places:,} places; tile_rows of {rows} would do, or placement by estimate, which needs no grid"
        )


def _share(units: int, tiles: int, tile: int) -> int:
    return units * (tile + 1) // tiles - units * tile // tiles


def _spread(pcus: int, pmus: int, places: int) -> list[Kind]:
    """PCUs, PMUs and empty places, each spread evenly over a row of places."""
    units, found, seen = pcus + pmus, list[Kind](), 0
    for place in range(places):
        if not _share(units, places, place):
            found.append("")
            continue
        found.append("pcu" if _share(pcus, units, seen) else "pmu")
        seen += 1
    return found


def _edges(machine: Machine, columns: int) -> tuple[int, ...]:
    """The cell of each AGCU: as many as can be on each left and each right edge, evenly from top to bottom."""
    sides = 2 * machine.tiles
    found = []
    for side in range(sides):
        tile, right = divmod(side, 2)
        top, left = tile // machine.tiles_across * machine.tile_rows, tile % machine.tiles_across * machine.tile_columns
        column = left + (machine.tile_columns - 1 if right else 0)
        here = _share(machine.agcus, sides, side)
        found += [(top + (2 * n + 1) * machine.tile_rows // (2 * here)) * columns + column for n in range(here)]
    return tuple(found)
