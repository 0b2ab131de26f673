"""Rows of a sweep as records, and these as a table, CSV, JSON or Parquet."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from experiments.survey import records_table
from experiments.sweep.row import METRICS, OK, Row

if TYPE_CHECKING:
    from experiments.survey import Record
    from experiments.sweep.store import Store, Written
    from experiments.text.table import Table

MISSING = "not run"
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
    """What differs from row to row, the main numbers, and of rows without any what would do."""
    failed = any(record["status"] != OK for record in records)
    numbers = [name for name in _SHOWN if any(record[name] is not None for record in records)]
    names = [*sweep.varied, *(["status"] if failed else []), *numbers]
    lines = [{name: record.get(name) for name in names} | _why(record, failed) for record in records]
    return records_table(lines, keys=max(1, len(sweep.varied)))


def _why(record: Record, failed: bool) -> Record:
    """What is told of a row that is not ok."""
    if not failed:
        return {}
    if record["needed"] is None:
        return {"what would do": record["message"]}
    lack = f"{record['resource']}: {record['needed']:,} of {record['available']:,}"
    return {"what would do": f"{lack}; {record['nearest']}"}


def _given(value: object) -> object:
    return None if value == "" else value
