"""A map of the grid in letters: which stage each unit works for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from string import ascii_uppercase

from rdu_model.floor.areas import owners
from rdu_model.floor.fabric import Fabric
from rdu_model.floor.placement import Placed
from rdu_model.section import Section

FREE = "."
WIDTH, GAP = 80, "  "
MANY = {"pcu": "*", "pmu": "+", "": " "}


def letters(section: Section, placed: Placed) -> Mapping[str, str]:
    """A letter for each stage; where there are more than letters, for those with most units. In the order of stages."""
    units = Counter(owners(section, placed).values())
    most = {name for name, _ in units.most_common(len(ascii_uppercase))}
    stages = [name for name in section.flow.leaves if name in most]
    return dict(zip(stages, ascii_uppercase, strict=False))


def floor_map(section: Section, placed: Placed) -> tuple[str, ...]:
    """The tiles with a line for each of their rows: capitals are PCUs, small letters PMUs, '@' an AGCU that streams.

    As many tiles stand side by side as fit WIDTH.
    """
    fabric = placed.fabric
    of, letter = owners(section, placed), letters(section, placed)
    signs = []
    for cell, kind in enumerate(fabric.kinds):
        sign = letter.get(of.get(cell, ""), MANY[kind])
        free = cell not in of and kind
        signs.append(FREE if free else sign.lower() if kind == "pmu" else sign)
    beside = max(1, (WIDTH + len(GAP)) // (fabric.tile_columns + 2 + len(GAP)))
    edges = _edges(placed)
    lines: list[str] = []
    for top in range(0, fabric.rows, fabric.tile_rows):
        lefts = range(0, fabric.columns, fabric.tile_columns)
        for first in range(0, len(lefts), beside):
            lines += ["", *_tiles(fabric, signs, edges, top, lefts[first : first + beside])]
    return tuple(lines[1:])


def _tiles(
    fabric: Fabric, signs: list[str], edges: Mapping[tuple[int, int], str], top: int, lefts: Sequence[int]
) -> Iterator[str]:
    """Some tiles side by side, under their names."""
    names = (f" tile {fabric.tile_of(fabric.cell(top, left))}".ljust(fabric.tile_columns + 2) for left in lefts)
    yield GAP.join(names).rstrip()
    for row in range(top, top + fabric.tile_rows):
        parts = []
        for left in lefts:
            first = fabric.cell(row, left)
            last = first + fabric.tile_columns - 1
            inside = "".join(signs[first : last + 1])
            parts.append(edges.get((first, 0), " ") + inside + edges.get((last, 1), " "))
        yield GAP.join(parts).rstrip()


def _edges(placed: Placed) -> Mapping[tuple[int, int], str]:
    """AGCUs by (cell, 0 at its left and 1 at its right)."""
    fabric = placed.fabric
    streaming = {number for numbers in placed.placement.agcus.values() for number in numbers}
    found: dict[tuple[int, int], str] = {}
    for number, cell in enumerate(fabric.agcus):
        side = int(fabric.row_column(cell)[1] % fabric.tile_columns > 0)
        if found.get((cell, side)) != "@":
            found[cell, side] = "@" if number in streaming else "o"
    return found
