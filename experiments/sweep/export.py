"""Rows of a sweep as records, and these as a table, CSV, JSON or Parquet."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from experiments.survey import records_table
from experiments.sweep.expansion import parameters_text
from experiments.sweep.row import METRICS, OK, Row
from patterns.plural import number_of

if TYPE_CHECKING:
    from experiments.survey import Record
    from experiments.sweep.store import Store, Written
    from experiments.text.table import Table

MISSING = "not run"
MOST_REASONS = 12
_TOLD = ("message", "resource", "needed", "available", "nearest")
# What a table on a terminal has of each row that ran; files have all.
_SHOWN = ("calls", "time_us", "bound_us", "bound", "off_chip_bytes", "energy_j")


def records_of(store: Store, sweep: Written) -> tuple[Record, ...]:
    """Every row with the fields of its point, its numbers and why it has none; None where there is nothing."""
    found = tuple(store.rows(sweep.name))
    more = tuple(dict.fromkeys(name for _, row in found if row for name, _ in row.more))
    return tuple(_record(sweep, parameters, row, more) for parameters, row in found)


def _record(sweep: Written, parameters: dict[str, Any], row: Row | None, more: Sequence[str]) -> Record:
    own = {name: parameters.get(name) for name in sweep.columns}
    row = row or Row(MISSING)
    mode = {} if {"mode", "policy"} & own.keys() else {"mode": row.mode or None}
    extra = dict(row.more)
    return {
        **own,
        **mode,
        "status": row.status,
        **dict(zip(METRICS, row.metrics, strict=True)),
        "bound": row.bound or None,
        **{name: extra.get(name) for name in more},
        **{name: _given(getattr(row, name)) for name in _TOLD},
    }


def records_json(records: Sequence[Record]) -> str:
    """Records as JSON."""
    return json.dumps({"rows": records}, indent=2, allow_nan=False) + "\n"


def shown_table(sweep: Written, records: Sequence[Record]) -> Table:
    """What differs from row to row, and the main numbers."""
    failed = any(record["status"] != OK for record in records)
    numbers = [name for name in _SHOWN if any(record[name] is not None for record in records)]
    names = [*sweep.varied, *(["status"] if failed else []), *numbers]
    lines = [{name: record.get(name) for name in names} for record in records]
    return records_table(lines, keys=max(1, len(sweep.varied)))


def shown_reasons(sweep: Written, records: Sequence[Record]) -> str:
    """Why rows are not ok and what would do, each reason once with the first row that has it."""
    alike: dict[str, list[Record]] = {}
    for record in records:
        if record["status"] != OK:
            alike.setdefault(_reason(record), []).append(record)
    lines = [f"{_rows(sweep, found)}: {reason}" for reason, found in alike.items()]
    more = [f"... and {len(lines) - MOST_REASONS:,} reasons more"] if len(lines) > MOST_REASONS else []
    return "\n".join(lines[:MOST_REASONS] + more)


def _rows(sweep: Written, records: Sequence[Record]) -> str:
    first = parameters_text({name: records[0][name] for name in sweep.varied if records[0][name] is not None})
    rest = f" and {number_of(len(records) - 1, 'row')} more" if len(records) > 1 else ""
    return f"{first or 'all'}{rest}"


def _reason(record: Record) -> str:
    if record["needed"] is None:
        return str(record["message"] or record["status"])
    return f"{record['needed']:,} {record['resource']}, there is {record['available']:,}; {record['nearest']}"


def _given(value: object) -> object:
    return None if value == "" else value
