"""Bytes by memory level, every mode of both machines on one axis, and beside those off chip the least there can be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.charting.pair import run_name
from experiments.export import LEVELS
from experiments.picture import Picture
from experiments.plot.bars import Bars
from experiments.text.comparison import LEVEL_TITLES, run_word, title
from patterns.count import compulsory

if TYPE_CHECKING:
    from experiments.compare import Comparison, Outcome

OF = "comparison"
OFF_CHIP = "hbm"
WIDE = 30


def draw(comparison: Comparison) -> Picture:
    """A panel a level, a bar a machine and mode that uses it: bytes over all members.

    The line across off-chip bytes is at what the graph itself reads and writes; memory that stays on chip from run
    to run can save some of it.
    """
    rows = [row for level in LEVELS for outcome in comparison.outcomes for row in level_rows(level, outcome)]
    shown = {(row["level"], row["family"]) for row in rows if row["moved_bytes"]}
    rows = [row for row in rows if (row["level"], row["family"]) in shown]
    sizes = [int(str(row["moved_bytes"])) for row in rows if row["moved_bytes"]]
    chart = Bars(
        name="traffic",
        label="run",
        values=("moved_bytes",),
        by="family",
        panel="level",
        title=f"{title(comparison)}\nbytes moved in one {run_word(comparison.graph)}, over all members",
        x_label="bytes",
        log=bool(sizes) and max(sizes) > WIDE * min(sizes),
        bound="least_bytes",
    )
    return chart.draw(rows or level_rows(OFF_CHIP, comparison.outcomes[0]))


def level_rows(level: str, outcome: Outcome) -> list[dict[str, object]]:
    """What one run moves in one level, as its report says."""
    report, plan = outcome.report, outcome.execution.plan
    moved = dict(report.bytes).get(level, 0)
    off_chip = level == plan.rates.off_chip.removesuffix("_bytes")
    least = compulsory(plan.graph).total_bytes * plan.members if off_chip else None
    title = LEVEL_TITLES[level]
    return [
        {
            "level": title,
            "run": run_name(report),
            "family": report.family.upper(),
            "moved_bytes": moved,
            "least_bytes": least,
        }
    ]
