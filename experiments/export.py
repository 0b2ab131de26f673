"""Reports for other programs: JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence

from patterns.report import OVERLAP_PARTS, PICOSECONDS, WATERFALL_PARTS, Report

LEVELS = ("hbm", "l2", "onchip", "ddr", "network")


def reports_json(reports: Sequence[Report]) -> str:
    """All reports as one JSON text: times in seconds, bytes by level, parts by name."""
    return json.dumps({"reports": [report_record(report) for report in reports]}, indent=2, allow_nan=False) + "\n"


def report_record(report: Report) -> dict[str, object]:
    """One report as JSON data."""
    return {
        "machine": report.machine,
        "mode": report.mode,
        "calls": report.calls,
        "calls_per_layer": report.calls_per_layer,
        "time_s": report.time_s,
        "bound_s": report.bound_s,
        "bytes": complete(report.bytes, LEVELS, 1),
        "overlap": complete(report.overlap_ps, OVERLAP_PARTS, PICOSECONDS),
        "waterfall": complete(report.waterfall_ps, WATERFALL_PARTS, PICOSECONDS),
    }


def complete(values: Iterable[tuple[str, int]], names: Sequence[str], divisor: int) -> dict[str, int | float]:
    """Every name with its value, 0 where a report has none; divided unless the divisor is 1."""
    found = dict(values)
    return {name: found.get(name, 0) if divisor == 1 else found.get(name, 0) / divisor for name in names}


def reports_csv(reports: Sequence[Report]) -> str:
    """All reports as CSV, one a row; units are in the column names."""
    rows: list[dict[str, object]] = []
    for report in reports:
        bytes_by_level = complete(report.bytes, LEVELS, 1)
        overlap = complete(report.overlap_ps, OVERLAP_PARTS, PICOSECONDS)
        waterfall = complete(report.waterfall_ps, WATERFALL_PARTS, PICOSECONDS)
        rows.append(
            {
                "machine": report.machine,
                "mode": report.mode,
                "members": report.members,
                "calls": report.calls,
                "calls_per_layer": report.calls_per_layer,
                "time_s": report.time_s,
                "bound_s": report.bound_s,
                "bound": report.bound,
                **{f"{level}_bytes": n for level, n in bytes_by_level.items()},
                **{f"overlap_{part}_s": s for part, s in overlap.items()},
                **{f"waterfall_{part}_s": s for part, s in waterfall.items()},
            }
        )
    return records_csv(rows)


def records_csv(rows: Sequence[dict[str, object]]) -> str:
    """Records with the same keys as CSV with a heading."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
