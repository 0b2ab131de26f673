"""What a stage of the RDU's compile flow made, as parts of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.text.page import Code, Part, Verbatim
from experiments.text.table import Column, Table
from rdu_model.compile_stage import Lines, Rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rdu_model.compile_stage import Cell, Shown


def stage_parts(shown: Iterable[Shown]) -> list[Part]:
    """Texts as they are, programs and maps with their lines kept, rows as tables."""
    return [part_of(one) for one in shown]


def part_of(shown: Shown) -> Part:
    """One of them."""
    if isinstance(shown, Lines):
        text = "\n".join(shown.lines)
        return Verbatim(text) if shown.is_map else Code(text)
    return table_of(shown) if isinstance(shown, Rows) else shown


def table_of(shown: Rows) -> Table:
    """Numbers stand at the right of their columns, texts at the left."""
    columns = tuple(
        Column(heading, right=is_number([row[i] for row in shown.rows])) for i, heading in enumerate(shown.headings)
    )
    return Table(columns, tuple(tuple(map(cell_text, row)) for row in shown.rows), keys=shown.keys)


def is_number(cells: list[Cell]) -> bool:
    """Whether a column holds numbers, with a unit behind them or not."""
    return all(not isinstance(cell, str) or cell[:1].isdigit() or not cell for cell in cells)


def cell_text(cell: Cell) -> str:
    """Whole numbers with their thousands apart, floats as percent, '-' for what there is none of."""
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return f"{cell:.1%}"
    return f"{cell:,}" if isinstance(cell, int) else cell
