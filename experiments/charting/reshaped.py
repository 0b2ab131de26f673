"""A chart of rows that are made of a study's records: chosen, named otherwise, or computed from several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from experiments.picture import Picture
    from experiments.survey import Chart, Record


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
