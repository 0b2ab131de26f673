"""Where the time goes: the overlap account and the waterfall, one table a family, parts that add up as printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from experiments.text.page import Part
from experiments.text.quantity import percent_texts, time_texts
from experiments.text.table import Column, Table
from patterns.report import OVERLAP_PARTS, WATERFALL_PARTS

if TYPE_CHECKING:
    from patterns.report import Report

Values = Callable[["Report"], tuple[tuple[str, int], ...]]

# What the parts of each account mean, a line each.
OVERLAP_LEGEND = {
    "overlapped": "at least two of matrix, vector, memory and network are at work",
    "exposed_matrix": "only matrix units are at work",
    "exposed_vector": "only vector and special-function units are",
    "exposed_memory": "only transfers to and from memory are",
    "exposed_network": "only transfers between machines are",
    "in_flight": "nothing is, but something that was started has not arrived",
    "issue": "only instructions that start other work are issued",
    "synchronisation": "the device passes from one call to the next",
    "launch": "a call starts or ends, or the device waits for the host to launch it",
    "idle": "nothing at all",
}
WATERFALL_LEGEND = {
    "speed_of_light": "the graph's own work at the datasheet's rates: the lower bound",
    "extra_work": "intermediates, re-reads and padding on top of the graph's own work",
    "separate_calls": "each call has its own limit: the sum of their times, not the time of the sum",
    "below_peak": "rates that are achieved, not the datasheet's",
    "imbalance": "the busiest unit of a call has more than its share",
    "fill": "the busiest unit of a call waits for the first data",
    "drain": "the last results leave",
    "exposed_matrix": "the busiest unit waits for matrix units",
    "exposed_vector": "the busiest unit waits for vector and special-function units",
    "exposed_memory": "the busiest unit waits for memory",
    "exposed_network": "the busiest unit waits for the network",
    "latency": "the busiest unit waits for something in flight",
    "issue": "the busiest unit waits for instructions that start work",
    "synchronisation": "the device passes from one call to the next",
    "launch": "the device waits for the host to launch a call",
}


def parts_tables(reports: Sequence[Report], word: str) -> list[Part]:
    """Both accounts of all reports, each with a title and a legend."""
    families = by_family(reports)
    return [
        f"Overlap: what runs at the same time in one {word} (parts add up)",
        *(account(group, OVERLAP_PARTS, lambda report: report.overlap_ps) for group in families),
        legend(OVERLAP_LEGEND, reports, lambda report: report.overlap_ps),
        f"Waterfall: from the lower bound to the time of one {word} (steps add up)",
        *(account(group, WATERFALL_PARTS, lambda report: report.waterfall_ps) for group in families),
        legend(WATERFALL_LEGEND, reports, lambda report: report.waterfall_ps),
    ]


def legend(lines: Mapping[str, str], reports: Sequence[Report], values: Values) -> str:
    """The meaning of the parts that any of the reports has."""
    used = {name for report in reports for name, amount in values(report) if amount}
    width = max((len(name) for name in used), default=0)
    return "\n".join(f"  {name.replace('_', ' ').ljust(width)}  {text}" for name, text in lines.items() if name in used)


def by_family(reports: Sequence[Report]) -> list[list[Report]]:
    """Reports in runs of the same machine family."""
    return [list(group) for _, group in groupby(reports, key=lambda report: report.family)]


def account(reports: Sequence[Report], names: Sequence[str], values: Values) -> Table:
    """One column a report, one row a part that any of them has, and the whole below."""
    found = [dict(values(report)) for report in reports]
    used = [name for name in names if any(parts.get(name) for parts in found)]
    cells = [column_of([parts.get(name, 0) for name in used]) for parts in found]
    columns = (Column(reports[0].machine, right=False), *(Column(report.mode) for report in reports))
    rows = [(name.replace("_", " "), *(column[i] for column in cells)) for i, name in enumerate([*used, "whole time"])]
    return Table(columns, tuple(rows), rules=(len(used),))


def column_of(parts_ps: list[int]) -> list[str]:
    """Time and percentage of every part and of the whole; as printed they add up."""
    times, whole = time_texts(parts_ps)
    percents = percent_texts(parts_ps)
    cells = [
        f"{time} {percent:>6}" if part else "-" for part, time, percent in zip(parts_ps, times, percents, strict=True)
    ]
    return [*cells, f"{whole} 100.0%"]
