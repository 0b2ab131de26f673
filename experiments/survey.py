"""A study of many runs: a table of what they gave, the sentence that its numbers support, and pictures of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Protocol

from experiments.charting.columns import axis_label
from experiments.export import records_csv
from experiments.text.page import page_text
from experiments.text.quantity import digits
from experiments.text.table import Column, Table
from patterns.plural import number_of

if TYPE_CHECKING:
    from experiments.picture import Picture
    from experiments.text.page import Part

# Where the name of a column may be parted in two lines, which short units are not.
LONG_RATIO = re.compile(r"/(?=\w{4})")
# A row of the table: the same keys in all, units in their names; None where a row has nothing.
Record = dict[str, Any]


class Chart(Protocol):
    """A picture of a survey's records that a study declares: which columns, drawn how. `name`: of its files."""

    @property
    def name(self) -> str:
        """Stem of its files."""

    def draw(self, records: Sequence[Record]) -> Picture:
        """The picture and the data it shows."""


@dataclass(frozen=True)
class Survey:
    """One experiment, declared. cases: what is run, a row each (frozen dataclasses such as Point, or mappings), or
    what makes them. record: runs a case; None for one that has no row, such as what does not fit. finding: the
    sentence that the rows support, short. figures: what draws them. keys: how many
    columns of the table name a row. details: what else the rows say, for those who read on. files_only: columns that
    the table's files have, and the pages, which would be too wide, have not.
    """

    question: str
    cases: Sequence[Any] | Callable[[], Iterable[Any]]
    record: Callable[[Any], Record | None]
    finding: Callable[[Sequence[Record]], str]
    figures: tuple[Chart, ...] = ()
    keys: int = 1
    details: Callable[[Sequence[Record]], str] | None = None
    files_only: tuple[str, ...] = ()

    def listed_cases(self) -> tuple[Any, ...]:
        """Every case."""
        return tuple(self.cases() if callable(self.cases) else self.cases)

    def rows(self) -> Iterable[Record]:
        """A record of every case that has one, run as it is asked for."""
        return (row for case in self.listed_cases() if (row := self.record(case)) is not None)


# Told of every row as it is made: what names it.
Tell = Callable[[str], None]


def untold(row: str) -> None:
    """Tell nobody."""


def run_survey(name: str, survey: Survey, page_width: int, tell: Tell = untold) -> tuple[str, dict[str, bytes]]:
    """Its sentence, and its files by name: the pages, the table as CSV and JSON, pictures. Raises UserErrors."""
    from experiments.page.study import study_page
    from experiments.picture import drawn_records

    records = tuple(_told(survey, tell))
    finding, details = survey.finding(records), survey.details(records) if survey.details else ""
    table = shown_table(records, survey)
    page = page_text([part for part in (survey.question, finding, details, *table) if part], page_width)
    texts = {
        "page.txt": page + "\n",
        "configuration.json": configuration_json(survey),
        "table.csv": records_csv(records),
        "table.json": json.dumps({"rows": records}, indent=2, allow_nan=False) + "\n",
    }
    files = {file: text.encode() for file, text in texts.items()} | drawn_records(records, survey.figures)
    return finding, files | {"page.html": study_page(name, survey.question, (finding, details), table, files)}


def shown_table(records: Sequence[Record], survey: Survey) -> list[Part]:
    """The table as pages have it, and what more its files have."""
    left = survey.files_only
    shown = [{name: value for name, value in record.items() if name not in left} for record in records]
    table = records_table(shown, survey.keys)
    names = ", ".join(said(name) for name in left)
    return [table, f"table.csv has {number_of(len(left), 'more column')}: {names}."] if left else [table]


def configuration_json(survey: Survey) -> str:
    """What was run, resolved: every case with all its fields."""
    return json.dumps({"cases": [plain(case) for case in survey.listed_cases()]}, indent=2) + "\n"


def plain(case: Any) -> Any:
    """A case as JSON data."""
    if is_dataclass(case) and not isinstance(case, type):
        return asdict(case)
    return dict(case) if isinstance(case, Mapping) else case


def _told(survey: Survey, tell: Tell) -> Iterable[Record]:
    """The rows, each told of."""
    for record in survey.rows():
        tell(" ".join(str(value) for value in list(record.values())[: survey.keys]))
        yield record


def records_table(records: Sequence[Record], keys: int) -> Table:
    """Records as a table. Columns of words stand to the left."""
    names = list(records[0]) if records else []
    words = {name for name in names if any(isinstance(record[name], str) for record in records)}
    rows = tuple(tuple(cell(record[name]) for name in names) for record in records)
    headings = (heading(name, max(len(row[place]) for row in rows)) for place, name in enumerate(names))
    columns = tuple(Column(words_of, right=name not in words) for name, words_of in zip(names, headings, strict=True))
    return Table(columns, rows, keys=keys)


def heading(name: str, width: int) -> str:
    """A column's name for people, its unit last, in lines of a width or of its longest word: 'registers/', 'thread'."""
    words = LONG_RATIO.sub("/ ", said(name)).split()
    width = max(width, *map(len, words))
    lines = wrap(" ".join(words), width, break_long_words=False, break_on_hyphens=False)
    return "\n".join(line.replace("/ ", "/") for line in lines)


def said(name: str) -> str:
    """A column's name for people on one line: 'time us'."""
    return axis_label(name).replace(", ", " ")


def cell(value: object) -> str:
    """'1,024', '12.31', '-190.0', '-' for nothing."""
    if isinstance(value, float):
        return f"-{digits(-value)}" if value < 0 else digits(value)
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
