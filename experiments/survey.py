"""A study of many runs: a table of what they gave, the sentence that its numbers support, and pictures of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.export import records_csv
from experiments.text.page import page_text
from experiments.text.quantity import digits
from experiments.text.table import Column, Table

# A row of the table: the same keys in all, units in their names; None where a row has nothing.
Record = dict[str, Any]


@dataclass(frozen=True)
class Survey:
    """One experiment, declared. records: runs it. finding: its sentence from them. figures: files in plot/ that draw
    records. keys: how many columns of the table name a row.
    """

    question: str
    records: Callable[[], Iterable[Record]]
    finding: Callable[[Sequence[Record]], str]
    figures: tuple[str, ...] = ()
    keys: int = 1


# Told of every row as it is made: what names it.
Tell = Callable[[str], None]


def untold(row: str) -> None:
    """Tell nobody."""


def run_survey(survey: Survey, page_width: int, tell: Tell = untold) -> tuple[str, dict[str, bytes]]:
    """Its sentence, and its files by name: the page, the table as CSV and JSON, pictures. Raises UserErrors."""
    from experiments.picture import drawn_records

    records = tuple(_told(survey, tell))
    finding = survey.finding(records)
    page = page_text([survey.question, finding, records_table(records, survey.keys)], page_width)
    texts = {
        "page.txt": page + "\n",
        "table.csv": records_csv(records),
        "table.json": json.dumps({"rows": records}, indent=2, allow_nan=False) + "\n",
    }
    return finding, {file: text.encode() for file, text in texts.items()} | drawn_records(records, survey.figures)


def _told(survey: Survey, tell: Tell) -> Iterable[Record]:
    """The rows, each told of."""
    for record in survey.records():
        tell(" ".join(str(value) for value in list(record.values())[: survey.keys]))
        yield record


def records_table(records: Sequence[Record], keys: int) -> Table:
    """Records as a table. Columns of words stand to the left, and their headings break at underscores."""
    names = list(records[0]) if records else []
    words = {name for name in names if any(isinstance(record[name], str) for record in records)}
    columns = tuple(Column(name.replace("_", "\n"), right=name not in words) for name in names)
    return Table(columns, tuple(tuple(cell(record[name]) for name in names) for record in records), keys=keys)


def cell(value: object) -> str:
    """'1,024', '12.31', '-' for nothing."""
    if isinstance(value, float):
        return digits(value)
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
