"""Records that are drawn from a file: CSV or JSON with rows, or what a sweep has kept in its store."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.charting.columns import shown
from patterns.errors import UnknownName, UserError

Record = dict[str, Any]


def read_records(path: Path, where: Sequence[tuple[str, str]] = ()) -> tuple[Record, ...]:
    """The rows of a file that have the values of `where`. Raises UserError, and UnknownName for a column."""
    from experiments.sweep.store import MAGIC

    try:
        if path.is_dir():
            raise UserError(f"cannot read {path}: it is a folder; give a .csv, a .json or the store of a sweep")
        with path.open("rb") as file:
            begin = file.read(len(MAGIC))
        records = _stored(path) if begin == MAGIC else _written(path, path.read_bytes())
    except OSError as error:
        raise UserError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from error
    if not records:
        raise UserError(f"{path} has no rows")
    return _chosen(records, where, path)


def _stored(path: Path) -> tuple[Record, ...]:
    """Rows of a store's only sweep."""
    from experiments.sweep.export import records_of
    from experiments.sweep.store import only_sweep, opened

    with opened(str(path), write=False) as store:
        return records_of(store, store.sweep(only_sweep(store)))


def _written(path: Path, content: bytes) -> tuple[Record, ...]:
    """Rows of a CSV or JSON file, told apart by how it begins."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(f"{path} is not a table: give a .csv, a .json or the store of a sweep") from None
    return _json(path, text) if text.lstrip()[:1] in ("{", "[") else _csv(path, text)


def _json(path: Path, text: str) -> tuple[Record, ...]:
    """A list of records, or an object with one under `rows`."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise UserError(f"{path} is not JSON: {error}") from None
    rows = data.get("rows") if isinstance(data, dict) else data
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UserError(f"{path} has no rows: a list of objects, or an object with one under 'rows'")
    names = dict.fromkeys(name for row in rows for name in row)
    return tuple({name: row.get(name) for name in names} for row in rows)


def _csv(path: Path, text: str) -> tuple[Record, ...]:
    """Rows under a heading; what looks like a number is one, and nothing is None."""
    try:
        lines = list(csv.reader(io.StringIO(text), strict=True))
    except csv.Error as error:
        raise UserError(f"{path} is broken: {error}") from None
    if not lines or "\x00" in text:
        raise UserError(f"{path} is not a table: give a .csv, a .json or the store of a sweep")
    names = lines[0]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UserError(f"{path}:1: several columns are called {', '.join(map(repr, twice))}")
    for number, line in enumerate(lines[1:], start=2):
        if line and len(line) != len(names):
            raise UserError(f"{path}:{number}: {len(line)} cells under {len(names)} headings")
    return tuple({name: _value(cell) for name, cell in zip(names, line, strict=True)} for line in lines[1:] if line)


def _value(text: str) -> object:
    """A cell as a number where it is one."""
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text or None


def _chosen(records: Sequence[Record], where: Sequence[tuple[str, str]], path: Path) -> tuple[Record, ...]:
    """Records with the values asked for, as texts or as numbers."""
    for column, _ in where:
        if column not in records[0]:
            raise UnknownName("column", column, tuple(records[0]))
    found = tuple(r for r in records if all(r[name] == _value(text) or str(r[name]) == text for name, text in where))
    if not found:
        told = ", ".join(f"{name}={text}" for name, text in where)
        values = [f"{name} is {_listed(records, name)}" for name, _ in where]
        raise UserError(f"{path} has no row with {told}; {'; '.join(values)}")
    return found


def _listed(records: Sequence[Record], column: str) -> str:
    """The values of a column, the first of many."""
    values = [shown(value) for value in dict.fromkeys(record[column] for record in records)]
    return ", ".join(values[:8]) + (" ..." if len(values) > 8 else "")
