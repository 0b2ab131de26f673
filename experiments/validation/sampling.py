"""A sample of rows that is the same every time and does not depend on their order."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from itertools import groupby

from experiments.validation.row import Row


def sample(rows: Sequence[Row], most: int | None) -> list[Row]:
    """At most `most` rows of each GPU (None: all), chosen by a hash of their names, in their order."""
    if most is None:
        return list(rows)
    chosen: set[tuple[str, str, str]] = set()
    for _, of_gpu in groupby(sorted(rows, key=lambda row: row.machine), key=lambda row: row.machine):
        chosen.update(map(_key, sorted(of_gpu, key=_place)[:most]))
    return [row for row in rows if _key(row) in chosen]


def _key(row: Row) -> tuple[str, str, str]:
    return row.machine, row.group, row.id


def _place(row: Row) -> bytes:
    return sha256("\n".join(_key(row)).encode()).digest()
