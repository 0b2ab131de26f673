"""The model beside measurements: which rows, what is predicted, and how far that is off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from experiments.sides import Family, machine_names
from experiments.validation.accuracy import Accuracy, accuracy_of
from experiments.validation.family import family_names, left_out, rows_of
from experiments.validation.overrides import SIDES, overrides_of
from experiments.validation.row import Compared, Outcome, Refused, Row
from experiments.validation.runner import outcomes
from experiments.validation.sampling import sample
from experiments.validation.tables import find_tables
from patterns.errors import UnknownName


@dataclass(frozen=True)
class Question:
    """What is to be validated. families: () for all. gpus, rdus: only these machines, all if both are ().

    rows: of each family and machine at most, None for all. settings: parameters of the machines replaced. jobs:
    processes, 0 for one a processor.
    """

    families: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    rows: int | None = None
    folder: Path | None = None
    settings: tuple[tuple[str, str], ...] = ()
    jobs: int = 0
    rdus: tuple[str, ...] = ()


@dataclass(frozen=True)
class FamilyResult:
    """A family's rows, in order. there: how many it has for these machines, of which a sample may have been taken.

    left_out: how many rows of its tables it does not take, by what they are of. kinds: how many it has of each
    (machine, group).
    """

    name: str
    compared: tuple[Compared, ...]
    refused: tuple[Refused, ...]
    there: int
    left_out: Mapping[str, int] = field(default_factory=dict)
    kinds: Mapping[tuple[str, str], int] = field(default_factory=dict)

    @property
    def accuracy(self) -> Accuracy | None:
        """Over all its rows that are targets; None if it has none."""
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
    tables = find_tables(question.folder, question.gpus or machine_names("gpu"))
    names = question.families or family_names()
    there = {name: rows_of(name, tables) for name in dict.fromkeys(names)}
    foreign = {row.machine for every in there.values() for row in every if row.machine not in machine_names(row.side)}
    found = {name: _of_machines(every, question) for name, every in there.items()}
    rows = [row for every in found.values() for row in sample(every, question.rows)]
    done: list[Outcome] = []
    for outcome in outcomes(rows, overrides_of(question.settings, rows), question.jobs):
        done.append(outcome)
        progress(len(done), len(rows))
    results = tuple(_result(name, done, every, left_out(name, tables)) for name, every in found.items())
    return Validation(results, tables.where, tuple(sorted(foreign)))


def check(question: Question) -> None:
    """Raises UnknownName for a family or a machine that does not exist."""
    for name in question.families:
        if name not in family_names():
            raise UnknownName("family", name, family_names())
    for side in SIDES:
        for name in _asked(question, side):
            if name not in machine_names(side):
                raise UnknownName(side.upper(), name, machine_names(side))


def _of_machines(rows: Sequence[Row], question: Question) -> list[Row]:
    """Rows of the machines that are asked for, of all if none is."""
    every = not question.gpus and not question.rdus
    wanted = {side: machine_names(side) if every else _asked(question, side) for side in SIDES}
    return [row for row in rows if row.machine in wanted[row.side]]


def _asked(question: Question, side: Family) -> tuple[str, ...]:
    return question.gpus if side == "gpu" else question.rdus


def _result(name: str, done: Sequence[Outcome], every: Sequence[Row], others: Mapping[str, int]) -> FamilyResult:
    compared = tuple(one for one in done if isinstance(one, Compared) and one.row.family == name)
    refused = tuple(one for one in done if isinstance(one, Refused) and one.row.family == name)
    kinds = Counter((row.machine, row.group) for row in every)
    return FamilyResult(name, compared, refused, len(every), others, kinds)
