"""How many times faster more members are, beside as many times as there are more of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from experiments.charting.asked import Asked
from experiments.charting.columns import Record, distinct, drawn_rows, number, of_value
from experiments.picture import Picture
from experiments.plot.lines import Lines
from patterns.errors import UserError

OF = "data"


@dataclass(frozen=True)
class Scaling:
    """Speed-up over `members`, a line a value of `by`, a panel a value of `panel`: the time of the fewest members of a
    line by that of more. Dashed beside it the ideal: as many times as there are more members. Raises UserErrors.
    """

    name: str
    members: str
    time: str
    by: str = ""
    panel: str = ""
    title: str = ""

    def draw(self, records: Sequence[Record]) -> Picture:
        """The lines; rows have the times that the speed-ups are of, too."""
        rows = [
            row for panel in distinct(records, self.panel) for row in self._panel(of_value(records, self.panel, panel))
        ]
        chart = Lines(
            self.name,
            self.members,
            "speed_up",
            by=self.by,
            panel=self.panel,
            title=self.title,
            y_label="times faster",
            x_log=True,
            y_log=True,
            bound="ideal",
        )
        drawn = chart.draw(rows)
        return Picture(drawn.figure, tuple(dict(row) for row in rows), drawn.narrow)

    def _panel(self, records: Sequence[Record]) -> list[dict[str, object]]:
        return [row for name in distinct(records, self.by) for row in self._line(of_value(records, self.by, name))]

    def _line(self, records: Sequence[Record]) -> list[dict[str, object]]:
        """Rows of one line, from the fewest members on; those without a time are left out."""
        rows = drawn_rows(records, (self.panel, self.by, self.members, self.time))
        known = [(number(row, self.members), number(row, self.time), row) for row in rows]
        timed = sorted(((m, t, row) for m, t, row in known if m and t), key=lambda one: one[0])
        if any(before[0] == after[0] for before, after in pairwise(timed)):
            raise UserError(f"a line has one {self.time} for each number of {self.members}: give --by or --where")
        return [{**row, "speed_up": timed[0][1] / time, "ideal": members / timed[0][0]} for members, time, row in timed]


def chart(asked: Asked) -> Scaling:
    """The chart of these options: --x members, --y their time."""
    asked.only(("x", "y"), ("by", "panel"))
    return Scaling(asked.name, asked.x, asked.one_y, asked.by, asked.panel, asked.title)
