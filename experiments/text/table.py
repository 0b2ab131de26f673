"""Tables as text: one grid where it fits, else in pieces with some columns each, else one record after another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from textwrap import wrap

GAP = 2
# Characters in which words are not wrapped any more.
LEAST_ROOM = 20


@dataclass(frozen=True)
class Column:
    """A heading (lines parted by a newline) and where its cells stand."""

    heading: str
    right: bool = True


@dataclass(frozen=True)
class Table:
    """Rows of texts under headings. The first `keys` columns name a row. `rules`: rows before which a line is drawn."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    rules: tuple[int, ...] = ()
    keys: int = 1


def table_text(table: Table, width: int) -> str:
    """The table in at most `width` columns, without a newline at its end."""
    pieces = split(table, width)
    if any(sum_of_widths(piece) > width for piece in pieces):
        return stacked(table, width)
    return "\n\n".join(map(grid, pieces))


def split(table: Table, width: int) -> list[Table]:
    """The table in pieces of at most `width`, each with the key columns; a piece has at least one other column."""
    pieces: list[list[int]] = [[]]
    for column in range(table.keys, len(table.columns)):
        if pieces[-1] and sum_of_widths(columns_of(table, [*pieces[-1], column])) > width:
            pieces.append([])
        pieces[-1].append(column)
    return [columns_of(table, piece) for piece in pieces]


def columns_of(table: Table, chosen: list[int]) -> Table:
    """The key columns and the chosen ones."""
    kept = [*range(table.keys), *chosen]
    rows = tuple(tuple(row[i] for i in kept) for row in table.rows)
    return replace(table, columns=tuple(table.columns[i] for i in kept), rows=rows)


def widths_of(table: Table) -> list[int]:
    """Characters that each column needs."""
    headings = [column.heading.split("\n") for column in table.columns]
    return [max(map(len, [*lines, *(row[i] for row in table.rows)])) for i, lines in enumerate(headings)]


def sum_of_widths(table: Table) -> int:
    """Characters of a line of the grid."""
    return sum(widths_of(table)) + GAP * (len(table.columns) - 1)


def grid(table: Table) -> str:
    """Headings at the foot of their space, a line, then the rows."""
    widths = widths_of(table)
    headings = [column.heading.split("\n") for column in table.columns]
    height = max(map(len, headings))
    padded = [[""] * (height - len(lines)) + lines for lines in headings]
    rule = "-" * sum_of_widths(table)
    lines = [aligned([column[i] for column in padded], table.columns, widths) for i in range(height)] + [rule]
    for number, row in enumerate(table.rows):
        lines += [rule] if number in table.rules else []
        lines.append(aligned(list(row), table.columns, widths))
    return "\n".join(lines)


def aligned(cells: list[str], columns: tuple[Column, ...], widths: list[int]) -> str:
    """One line of a grid, without blanks at its end."""
    pairs = zip(cells, columns, widths, strict=True)
    return (" " * GAP).join(cell.rjust(w) if column.right else cell.ljust(w) for cell, column, w in pairs).rstrip()


def below(name: str, cell: str, width: int) -> list[str]:
    """A cell beside its name, in lines; as it is where there is hardly any room."""
    room = width - len(name)
    if len(cell) <= room or room < LEAST_ROOM:
        return [name + cell]
    first, *others = wrap(cell, room, break_long_words=False, break_on_hyphens=False)
    return [name + first, *(" " * len(name) + line for line in others)]


def stacked(table: Table, width: int) -> str:
    """Each row as its keys, and below them a line for each other cell; words that do not fit stand below its first."""
    names = [" ".join(column.heading.split()) for column in table.columns]
    space = max(map(len, names[table.keys :]), default=0)
    lines = []
    for row in table.rows:
        lines.append(" ".join(row[: table.keys]).strip())
        for name, cell in zip(names[table.keys :], row[table.keys :], strict=True):
            if cell:
                lines += below(f"  {name.ljust(space)}  ", cell, width)
    return "\n".join(lines)
