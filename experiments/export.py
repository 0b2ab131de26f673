"""Reports for other programs: JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from patterns.report import OVERLAP_PARTS, PICOSECONDS, WATERFALL_PARTS
from patterns.spent import ENERGY_PARTS

if TYPE_CHECKING:
    from experiments.compare import Outcome
    from experiments.validation.plan_bands import PartBand
    from patterns.energy import Energy
    from patterns.plan import Level, Room

# Of the bytes that are moved, in the order of every table.
LEVELS: tuple[Level, ...] = ("hbm", "l2", "onchip", "ddr", "network")


def reports_json(outcomes: Sequence[Outcome]) -> str:
    """All reports as one JSON text: times in seconds, bytes by level, parts by name, joules of all members, error
    bands in percent; of an RDU off-chip bytes of one socket by tensor and reason, and what lies in its memories."""
    return json.dumps({"reports": [report_record(outcome) for outcome in outcomes]}, indent=2, allow_nan=False) + "\n"


def report_record(outcome: Outcome) -> dict[str, object]:
    """One report as JSON data; `error_band_percent` is null where nothing was measured on the machine."""
    from experiments.validation.plan_bands import combined

    report, band = outcome.report, combined(outcome.bands)
    return {
        "machine": report.machine,
        "mode": report.mode,
        "members": report.members,
        "calls": report.calls,
        "calls_per_layer": report.calls_per_layer,
        "time_s": report.time_s,
        "bound_s": report.bound_s,
        "bytes": complete(report.bytes, LEVELS, 1),
        "overlap": complete(report.overlap_ps, OVERLAP_PARTS, PICOSECONDS),
        "waterfall": complete(report.waterfall_ps, WATERFALL_PARTS, PICOSECONDS),
        "energy": energy_record(report.energy),
        "error_band_percent": {"low": band[0], "high": band[1]} if band else None,
        "error_bands": [part_record(one) for one in outcome.bands],
        "off_chip": [asdict(moved) for moved in outcome.execution.plan.moved],
        "memories": [room_record(room) for room in outcome.execution.plan.rooms],
    }


def energy_record(energy: Energy | None) -> dict[str, object] | None:
    """Joules of a run over all members and of each part of it: typical, and the ends that sources leave open."""
    if energy is None:
        return None
    fields = ("num_events", "typical_j", "low_j", "high_j")
    parts = {part.name: {name: getattr(part, name) for name in fields} for part in energy.parts}
    return {"typical_j": energy.typical_j, "low_j": energy.low_j, "high_j": energy.high_j, "parts": parts}


def energy_columns(energy: Energy | None) -> dict[str, object]:
    """The same as columns: the whole with its ends, and typical joules of the parts; None where nothing is known."""
    parts = {part.name: part.typical_j for part in energy.parts} if energy else {}
    whole = (energy.typical_j, energy.low_j, energy.high_j) if energy else (None,) * 3
    named = dict(zip(("energy_j", "energy_low_j", "energy_high_j"), whole, strict=True))
    return {**named, **{f"energy_{part}_j": parts.get(part, 0.0 if energy else None) for part in ENERGY_PARTS}}


def room_record(room: Room) -> dict[str, object]:
    """What lies in a memory as JSON data."""
    return {**asdict(room), "held": dict(room.held)}


def part_record(one: PartBand) -> dict[str, object]:
    """A part of the time and its error band as JSON data."""
    return {
        "part": one.part,
        "share_percent": 100 * one.share,
        "low_percent": one.band.low_percent,
        "high_percent": one.band.high_percent,
        "rows": one.band.rows,
    }


def complete(values: Iterable[tuple[str, int]], names: Sequence[str], divisor: int) -> dict[str, int | float]:
    """Every name with its value, 0 where a report has none; divided unless the divisor is 1."""
    found = dict(values)
    return {name: found.get(name, 0) if divisor == 1 else found.get(name, 0) / divisor for name in names}


def reports_csv(outcomes: Sequence[Outcome]) -> str:
    """All reports as CSV, one a row; units are in the column names."""
    return records_csv(report_rows(outcomes))


def report_rows(outcomes: Sequence[Outcome]) -> list[dict[str, object]]:
    """All reports as flat records with the same keys, None where a report has nothing."""
    return [report_row(outcome) for outcome in outcomes]


def report_row(outcome: Outcome) -> dict[str, object]:
    """One report as a flat record; units are in the names."""
    from experiments.validation.plan_bands import combined

    report, band = outcome.report, combined(outcome.bands)
    bytes_by_level = complete(report.bytes, LEVELS, 1)
    overlap = complete(report.overlap_ps, OVERLAP_PARTS, PICOSECONDS)
    waterfall = complete(report.waterfall_ps, WATERFALL_PARTS, PICOSECONDS)
    return {
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
        **energy_columns(report.energy),
        "error_band_low_percent": band[0] if band else None,
        "error_band_high_percent": band[1] if band else None,
    }


def records_csv(rows: Sequence[dict[str, object]]) -> str:
    """Records with the same keys as CSV with a heading."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
