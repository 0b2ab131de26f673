"""Charts of some of a study's rows, of several columns as if each were a row, or of rows computed from a study's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from patterns.errors import UnknownName

if TYPE_CHECKING:
    from experiments.picture import Picture
    from experiments.survey import Chart, Record


@dataclass(frozen=True)
class Where:
    """The chart of those rows whose columns have these values. Raises UnknownName."""

    chart: Chart
    keep: tuple[tuple[str, object], ...]

    @property
    def name(self) -> str:
        """That of the chart."""
        return self.chart.name

    def draw(self, records: Sequence[Record]) -> Picture:
        """The picture of the rows that are kept."""
        for column, _ in self.keep:
            _known(column, records)
        kept = [row for row in records if all(row[column] == value for column, value in self.keep)]
        return self.chart.draw(kept)


@dataclass(frozen=True)
class Tall:
    """The chart of rows in which several columns stand one below the other: of each row one for every column, with
    the column's own name, in words, in `into`, and its number in `value`. Raises UnknownName.
    """

    chart: Chart
    columns: tuple[tuple[str, str], ...]
    into: str
    value: str

    @property
    def name(self) -> str:
        """That of the chart."""
        return self.chart.name

    def draw(self, records: Sequence[Record]) -> Picture:
        """The picture of the rows that were made."""
        for column, _ in self.columns:
            _known(column, records)
        made = [row | {self.into: words, self.value: row[column]} for column, words in self.columns for row in records]
        return self.chart.draw(made)


@dataclass(frozen=True)
class Reshaped:
    """`chart` of the rows that `rows(records)` makes."""

    chart: Chart
    rows: Callable[[Sequence[Record]], Sequence[Record]]

    @property
    def name(self) -> str:
        """Of its files."""
        return self.chart.name

    def draw(self, records: Sequence[Record]) -> Picture:
        """The chart of the rows made of the records."""
        return self.chart.draw(self.rows(records))


def _known(column: str, records: Sequence[Record]) -> None:
    if records and column not in records[0]:
        raise UnknownName("column", column, tuple(records[0]))
