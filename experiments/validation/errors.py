"""How far predictions are off from everything that was measured, line by line, as validation found it.

experiments/measured/errors.yaml holds the lines; `validate --write-errors` writes it and docs/accuracy.md shows it.
Figures are part of the project: a line for each family and machine. Rows of tables are not: a line for each group of
them, of the sample that constants were fitted to and of NVIDIA's database, of which at most DATABASE_ROWS are taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from experiments.validation.accuracy import accuracy_of, targets
from experiments.validation.family import fitted, rows_of
from experiments.validation.published import MEASURED
from experiments.validation.tables import PACKAGE, Tables
from patterns.load import load_file, validate

if TYPE_CHECKING:
    from experiments.validate import FamilyResult, Validation
    from experiments.validation.row import Compared, Row

FILE = "errors.yaml"
# Of each family and machine in the database, which has hundreds of thousands.
DATABASE_ROWS = 300
COMMENT = """\
# How far predictions are off, in percent of what was measured: mean and 90th percentile of the absolute errors, mean of
# the signed ones (above 0 is too much). Written by `patternloom validate --write-errors`.
# figures: published, part of the project. tables: rows of a sample and of a database that are not; of: so many rows the
# database has; in_sample: so many of those taken are in the sample, too; fitted: constants were fitted to the sample.
"""
# What rows belong to: family, machine, group; of a family's published figures the group is ''.
Key = tuple[str, str, str]


@dataclass(frozen=True)
class Errors:
    """Of so many rows, in percent of what was measured."""

    rows: int
    mean_percent: float
    p90_percent: float
    bias_percent: float


@dataclass(frozen=True)
class FigureLine:
    """A family's published figures on a machine."""

    family: str
    machine: str
    errors: Errors


@dataclass(frozen=True)
class TableLine:
    """A group of a family's rows of tables on a machine. source: the library. None: no rows of it were taken.

    fitted: whether constants were fitted to rows of the sample. of: how many rows the database has of it, of which
    those of `database` were taken; in_sample: how many of these are in the sample, too.
    """

    family: str
    machine: str
    group: str
    source: str
    fitted: bool
    of: int
    in_sample: int
    sample: Errors | None
    database: Errors | None


@dataclass(frozen=True)
class Found:
    """Every line. package: the database's, with its version, '' for none; rows_at_most: see DATABASE_ROWS."""

    package: str
    rows_at_most: int | None
    figures: tuple[FigureLine, ...]
    tables: tuple[TableLine, ...]


class _ErrorsSpec(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
    rows: int
    mean_percent: float
    p90_percent: float
    bias_percent: float


class _FigureSpec(_ErrorsSpec):
    family: str
    machine: str


class _TableSpec(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
    family: str
    machine: str
    group: str
    source: str
    fitted: bool
    of: int
    in_sample: int
    sample: _ErrorsSpec | None = None
    database: _ErrorsSpec | None = None


class _FoundSpec(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
    package: str
    rows_at_most: int | None = None
    figures: list[_FigureSpec]
    tables: list[_TableSpec]


@cache
def known_errors() -> Found:
    """The lines of the project's file. Raises SpecError."""
    spec = validate(_FoundSpec, load_file(files(MEASURED).joinpath(FILE)))
    figures = tuple(FigureLine(one.family, one.machine, _read(one)) for one in spec.figures)
    tables = tuple(
        TableLine(
            **one.model_dump(exclude={"sample", "database"}),
            sample=_read(one.sample) if one.sample else None,
            database=_read(one.database) if one.database else None,
        )
        for one in spec.tables
    )
    return Found(spec.package, spec.rows_at_most, figures, tables)


def _read(spec: _ErrorsSpec) -> Errors:
    return Errors(spec.rows, spec.mean_percent, spec.p90_percent, spec.bias_percent)


def found_errors(sample: Validation | None, database: Validation, rows_at_most: int | None) -> Found:
    """Every line of a validation of the sample (None for none) and of one of the database."""
    figures, of_database = _parted(database.families)
    of_sample = _parted(sample.families)[1] if sample else {}
    there = {(one.name, *kind): count for one in database.families for kind, count in one.kinds.items()}
    tables = (
        _line(key, of_sample.get(key, []), of_database.get(key, []), there.get(key, 0))
        for key in sorted({*of_sample, *of_database})
    )
    lines = (FigureLine(family, machine, _errors(rows)) for (family, machine, _), rows in sorted(figures.items()))
    package = f"{PACKAGE.replace('_', '-')} {version(PACKAGE)}" if of_database else ""
    return Found(package, rows_at_most, tuple(lines), tuple(tables))


def _parted(families: Sequence[FamilyResult]) -> tuple[dict[Key, list[Compared]], dict[Key, list[Compared]]]:
    """Rows that are targets by their line: the project's own, and those of tables."""
    own: dict[Key, list[Compared]] = {}
    others: dict[Key, list[Compared]] = {}
    for family in families:
        figures = {_place(row) for row in rows_of(family.name, Tables())}
        for compared in targets(family.compared):
            row = compared.row
            if _place(row) in figures:
                own.setdefault((family.name, row.machine, ""), []).append(compared)
            else:
                others.setdefault((family.name, row.machine, row.group), []).append(compared)
    return own, others


def _place(row: Row) -> tuple[str, str, str]:
    return row.machine, row.group, row.id


def _line(key: Key, sample: Sequence[Compared], database: Sequence[Compared], there: int) -> TableLine:
    names = {compared.row.id for compared in sample}
    sources = sorted({compared.row.source for compared in (*sample, *database)})
    return TableLine(
        *key,
        source="; ".join(sources),
        fitted=bool(sample) and key[1:] in fitted(key[0]),
        of=there,
        in_sample=sum(compared.row.id in names for compared in database),
        sample=_errors(sample) if sample else None,
        database=_errors(database) if database else None,
    )


def _errors(rows: Sequence[Compared]) -> Errors:
    accuracy = accuracy_of(rows)
    assert accuracy is not None
    percents = (accuracy.mape_percent, accuracy.p90_percent, accuracy.bias_percent)
    # What is rounded to nothing has no sign of its own.
    return Errors(accuracy.rows, *(round(percent, 1) + 0.0 for percent in percents))


def errors_text(found: Found) -> str:
    """The lines as the file that known_errors reads."""
    return "".join((COMMENT, *_written(found)))


def _written(found: Found) -> Iterator[str]:
    yield f"package: {_quoted(found.package)}\n"
    yield f"rows_at_most: {found.rows_at_most}\n" if found.rows_at_most is not None else ""
    yield "figures:\n" if found.figures else "figures: []\n"
    for figure in found.figures:
        yield f"  - {_flow({'family': figure.family, 'machine': figure.machine, **vars(figure.errors)})}\n"
    yield "tables:\n" if found.tables else "tables: []\n"
    for line in found.tables:
        yield f"  - {_flow({**vars(line), 'group': _quoted(line.group), 'source': _quoted(line.source)})}\n"


def _flow(cells: Mapping[str, object]) -> str:
    return "{" + ", ".join(f"{name}: {_cell(value)}" for name, value in cells.items() if value is not None) + "}"


def _cell(value: object) -> str:
    if isinstance(value, Errors):
        return _flow(vars(value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _quoted(text: str) -> str:
    return f'"{text}"'
