"""Where the time goes: the overlap account and the waterfall, one table a family, parts that add up as printed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from experiments.text.page import Part
from experiments.text.quantity import percent_texts, time_texts
from experiments.text.table import Column, Table
from patterns.report import OVERLAP_PARTS, WATERFALL_PARTS

if TYPE_CHECKING:
    from patterns.report import Report

Values = Callable[["Report"], tuple[tuple[str, int], ...]]

OVERLAP_NOTE = (
    "overlapped: at least two of matrix, vector, memory and network work at once; exposed: that one alone;"
    " in flight: only latency."
)
WATERFALL_NOTE = (
    "From the graph's own work at datasheet rates (speed of light) up to the simulated time; every step is what the"
    " next effect costs."
)


def parts_tables(reports: Sequence[Report], word: str) -> list[Part]:
    """Both accounts of all reports, each with a title and a legend."""
    overlap = [
        account(list(group), OVERLAP_PARTS, lambda r: r.overlap_ps, "whole time") for group in by_family(reports)
    ]
    waterfall = [
        account(list(group), WATERFALL_PARTS, lambda r: r.waterfall_ps, "whole time") for group in by_family(reports)
    ]
    return [
        f"Overlap: what runs at the same time in one {word} (parts add up)",
        *overlap,
        OVERLAP_NOTE,
        f"Waterfall: why one {word} takes as long as it does (steps add up)",
        *waterfall,
        WATERFALL_NOTE,
    ]


def by_family(reports: Sequence[Report]) -> list[list[Report]]:
    """Reports in runs of the same machine family."""
    return [list(group) for _, group in groupby(reports, key=lambda report: report.family)]


def account(reports: Sequence[Report], names: Sequence[str], values: Values, total: str) -> Table:
    """One column a report, one row a part that any of them has, and the whole below."""
    found = [dict(values(report)) for report in reports]
    used = [name for name in names if any(parts.get(name) for parts in found)]
    cells = [column_of([parts.get(name, 0) for name in used]) for parts in found]
    columns = (Column(reports[0].machine, right=False), *(Column(report.mode) for report in reports))
    rows = [(name.replace("_", " "), *(column[i] for column in cells)) for i, name in enumerate([*used, total])]
    return Table(columns, tuple(rows), rules=(len(used),))


def column_of(parts_ps: list[int]) -> list[str]:
    """Time and percentage of every part and of the whole; as printed they add up."""
    times, whole = time_texts(parts_ps)
    percents = percent_texts(parts_ps)
    cells = [
        f"{time} {percent:>6}" if part else "-" for part, time, percent in zip(parts_ps, times, percents, strict=True)
    ]
    return [*cells, f"{whole} 100.0%"]
