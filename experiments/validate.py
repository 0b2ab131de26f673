"""The model beside measurements: which rows, what is predicted, and how far that is off."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from experiments.validation.accuracy import Accuracy, accuracy_of
from experiments.validation.family import family_names, left_out, rows_of
from experiments.validation.row import Compared, Outcome, Refused, Row
from experiments.validation.runner import outcomes
from experiments.validation.sampling import sample
from experiments.validation.tables import find_tables
from gpu_model import machine_names
from patterns.errors import UnknownName, UserError


@dataclass(frozen=True)
class Question:
    """What is to be validated. families, gpus: () for all. rows: of each family and GPU at most, None for all.

    settings: parameters of the GPUs replaced. jobs: processes, 0 for one a processor.
    """

    families: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    rows: int | None = None
    folder: Path | None = None
    settings: tuple[tuple[str, str], ...] = ()
    jobs: int = 0


@dataclass(frozen=True)
class FamilyResult:
    """A family's rows, in order. there: how many it has for these GPUs, of which a sample may have been taken.

    left_out: how many rows of its tables it does not take, by what they are of.
    """

    name: str
    compared: tuple[Compared, ...]
    refused: tuple[Refused, ...]
    there: int
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def accuracy(self) -> Accuracy | None:
        """Over all its rows; None if it has none."""
        return accuracy_of(self.compared)


@dataclass(frozen=True)
class Validation:
    """Families by name, where the tables are from ('' if there are none), and GPUs in them that are no machines."""

    families: tuple[FamilyResult, ...]
    tables: str
    foreign: tuple[str, ...] = ()


def validate(question: Question, progress: Callable[[int, int], None] = lambda done, total: None) -> Validation:
    """Predict the rows that are asked for. `progress` is told how many of all are done. Raises UserErrors."""
    check(question)
    tables = find_tables(question.folder, question.gpus or machine_names())
    names = question.families or family_names()
    there = {name: rows_of(name, tables) for name in dict.fromkeys(names)}
    foreign = {row.gpu for every in there.values() for row in every} - set(machine_names())
    found = {name: _of_gpus(every, question.gpus) for name, every in there.items()}
    rows = [row for every in found.values() for row in sample(every, question.rows)]
    done: list[Outcome] = []
    for outcome in outcomes(rows, _overrides(question.settings), question.jobs):
        done.append(outcome)
        progress(len(done), len(rows))
    results = tuple(_result(name, done, len(every), left_out(name, tables)) for name, every in found.items())
    return Validation(results, tables.where, tuple(sorted(foreign)))


def check(question: Question) -> None:
    """Raises UnknownName for a family or a GPU that does not exist."""
    for name in question.families:
        if name not in family_names():
            raise UnknownName("family", name, family_names())
    for name in question.gpus:
        if name not in machine_names():
            raise UnknownName("GPU", name, machine_names())


def _of_gpus(rows: Sequence[Row], gpus: tuple[str, ...]) -> list[Row]:
    wanted = gpus or machine_names()
    return [row for row in rows if row.gpu in wanted]


def _overrides(settings: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Settings of the GPUs by name; `gpu.` may stand before it. Raises UserError for one that is set twice."""
    found: dict[str, str] = {}
    for written, value in settings:
        name = written.removeprefix("gpu.")
        if name in found:
            raise UserError(f"{name!r} is set twice by --set: keep one")
        found[name] = value
    return found


def _result(name: str, done: Sequence[Outcome], there: int, others: Mapping[str, int]) -> FamilyResult:
    compared = tuple(one for one in done if isinstance(one, Compared) and one.row.family == name)
    refused = tuple(one for one in done if isinstance(one, Refused) and one.row.family == name)
    return FamilyResult(name, compared, refused, there, others)
