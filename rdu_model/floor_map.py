"""A map of the grid in letters: which stage each unit works for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from string import ascii_uppercase

from rdu_model.areas import owners
from rdu_model.placement import Placed
from rdu_model.section import Section

FREE = "."
MANY = {"pcu": "*", "pmu": "+", "": " "}


def letters(section: Section, placed: Placed) -> Mapping[str, str]:
    """A letter for each stage; where there are more than letters, for those with most units. In the order of stages."""
    units = Counter(owners(section, placed).values())
    most = {name for name, _ in units.most_common(len(ascii_uppercase))}
    stages = [name for name in section.flow.leaves if name in most]
    return dict(zip(stages, ascii_uppercase, strict=False))


def floor_map(section: Section, placed: Placed) -> tuple[str, ...]:
    """A line for each row of the grid, tiles apart: capitals are PCUs, small letters PMUs, '@' an AGCU that streams."""
    fabric = placed.fabric
    of, letter = owners(section, placed), letters(section, placed)
    signs = []
    for cell, kind in enumerate(fabric.kinds):
        sign = letter.get(of.get(cell, ""), MANY[kind])
        free = cell not in of and kind
        signs.append(FREE if free else sign.lower() if kind == "pmu" else sign)
    return tuple(_rows(placed, signs))


def _rows(placed: Placed, signs: list[str]) -> Iterator[str]:
    fabric = placed.fabric
    edges = _edges(placed)
    for row in range(fabric.rows):
        if row and row % fabric.tile_rows == 0:
            yield ""
        parts = []
        for left in range(0, fabric.columns, fabric.tile_columns):
            first = fabric.cell(row, left)
            last = first + fabric.tile_columns - 1
            inside = "".join(signs[first : last + 1])
            parts.append(edges.get((first, 0), " ") + inside + edges.get((last, 1), " "))
        yield "  ".join(parts).rstrip()


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
