"""Columns of records that are drawn: which there are, their numbers checked, and how they are named on an axis."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from experiments.column_units import PER, SYMBOLS
from patterns.errors import UnknownName, UserError

Record = Mapping[str, Any]

# Labels have these in words.
UNITS = {**SYMBOLS, "bytes": "bytes", "flops": "flops", "ratio": "ratio"}
# Before what a unit counts for each of: 'saved_us_a_call'.
EACH = "_a_"
# Words that are written in capitals.
CAPITALS = {
    **{word: word.upper() for word in ("hbm", "ddr", "l2", "gpu", "rdu", "sm", "tc", "sram", "cta", "sfu", "fma")},
    **{word: word.upper() for word in ("gemm", "mma", "tma")},
    "gpus": "GPUs",
    "rdus": "RDUs",
    "sms": "SMs",
    "ctas": "CTAs",
    "pcus": "PCUs",
    "pmus": "PMUs",
}
LONGEST_NAME = 48


def drawn_rows(records: Sequence[Record], columns: Iterable[str]) -> tuple[dict[str, object], ...]:
    """Of each record the columns that are drawn, each once. Raises UnknownName, and UserError without any record."""
    if not records:
        raise UserError("there is nothing to draw: no rows")
    wanted = [column for column in dict.fromkeys(columns) if column]
    for column in wanted:
        if column not in records[0]:
            raise UnknownName("column", column, tuple(records[0]))
    return tuple({column: record[column] for column in wanted} for record in records)


def at_most(count: int, most: int, what: str) -> None:
    """Raises UserError for more of something than a picture can show."""
    if count > most:
        raise UserError(f"{count:,} {what} are too many for a picture, at most {most:,}: choose rows, or other columns")


def number(record: Record, column: str, log: bool = False) -> float | None:
    """A value to draw; None where a row has nothing. Raises UserError for what cannot be drawn."""
    value = record[column]
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserError(f"column {column} cannot be drawn as a number: it has {value!r}")
    if not isfinite(value):
        raise UserError(f"column {column} cannot be drawn: it has {value}")
    if log and value < 0:
        raise UserError(f"column {column} cannot be drawn on a logarithmic axis: it has {value}")
    return float(value)


def distinct(records: Sequence[Record], column: str) -> list[Any]:
    """Values of a column, each once, in their order; numbers by size. [''] without a column."""
    if not column:
        return [""]
    found: list[Hashable] = list(dict.fromkeys(record[column] for record in records))
    return sorted(found) if found and all(_is_number(value) for value in found) else found


def numeric(records: Sequence[Record], column: str) -> bool:
    """Whether all values of a column are numbers."""
    return all(_is_number(record[column]) for record in records)


def of_value(records: Sequence[Record], column: str, value: object) -> list[Record]:
    """The records that have a value in a column; all without a column."""
    return [record for record in records if not column or record[column] == value]


def axis_label(column: str) -> str:
    """A column's name for people, its unit last: 'time, us', 'tokens/s', 'off-chip, bytes', 'energy, J a token'."""
    measured, _, each = column.rpartition(EACH)
    if measured.rpartition("_")[2] in UNITS:
        return f"{axis_label(measured)} a {each.replace('_', ' ')}"
    before, per, after = column.rpartition(PER)
    words = (before if per else column).split("_")
    unit = UNITS.get(words[-1], words[-1] if per else "")
    named = (CAPITALS.get(word, word) for word in (words[:-1] if unit else words))
    quantity = " ".join(named).replace("off chip", "off-chip")
    if per:
        unit += f"/{UNITS.get(after, after.replace('_', ' '))}"
    return ", ".join(part for part in (quantity, unit) if part)


def quantity(column: str) -> str:
    """A column's name for people without its unit."""
    return axis_label(column).partition(",")[0]


def shown(value: object, longest: int = LONGEST_NAME) -> str:
    """A value as a name in a picture: on one line, and shortened in its middle where it is long."""
    if isinstance(value, float):
        return f"{value:g}"
    text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    text = "".join(letter if letter.isprintable() else " " for letter in text)
    if len(text) <= longest:
        return text
    half = max(longest // 2 - 1, 1)
    return f"{text[:half]}...{text[-half:]}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
