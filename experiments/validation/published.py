"""Published figures: the tables in experiments/measured, each a file with its sources, its columns and its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

from patterns.load import load_file, validate

MEASURED = "experiments.measured"
Cell = str | int | float | bool


@dataclass(frozen=True)
class Figure:
    """One row: its cells by column. source: where it was published."""

    id: str
    source: str
    cells: Mapping[str, Cell]

    def text(self, column: str) -> str:
        """A cell as text."""
        return str(self.cells[column])

    def count(self, column: str) -> int:
        """A cell that is a whole number."""
        return int(self.cells[column])

    def value(self, column: str) -> float:
        """A cell that is a number."""
        return float(self.cells[column])

    @property
    def low(self) -> float:
        """The lower end of a published range, in the column of that name."""
        return self.value("low")

    @property
    def high(self) -> float | None:
        """The upper end, None where one value was published."""
        return self.value("high") if self.value("high") > self.low else None

    def flag(self, column: str) -> bool:
        """A cell that is true or false."""
        return bool(self.cells[column])


class _TableSpec(BaseModel):
    """A table as written: sources by name, `id` and `source` among the columns, one list a row."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
    sources: dict[str, str]
    columns: list[str]
    rows: list[list[Cell]]


@cache
def published(table: str) -> tuple[Figure, ...]:
    """The rows of a table, in order. Raises SpecError where a row is not whole or names no source."""
    document = load_file(files(MEASURED).joinpath(f"{table}.yaml"))
    spec = validate(_TableSpec, document)
    mistakes = []
    for number, row in enumerate(spec.rows):
        if len(row) != len(spec.columns):
            message = f"{len(row)} cells, the table has {len(spec.columns)} columns"
            mistakes.append(document.at(("rows", number), message))
        elif row[spec.columns.index("source")] not in spec.sources:
            mistakes.append(document.at(("rows", number), "its source is not among the sources"))
    document.refuse(mistakes)
    records = (dict(zip(spec.columns, row, strict=True)) for row in spec.rows)
    return tuple(Figure(str(record["id"]), spec.sources[str(record["source"])], record) for record in records)
