"""What a family of measurements is: a file in experiments/families. The file's name is the family's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, Protocol, cast

from experiments.validation.row import Row
from experiments.validation.tables import Tables
from patterns.plugin import load_module, modules

FAMILIES = "experiments.families"
# What a plan's time is made of, as far as its error is told: see bands.py.
Part = Literal["gemm", "attention", "small_kernels", "collectives", "launches", "sections"]


class Family(Protocol):
    """PART: the part of a plan's time that the family tells the error of; '' where it is of no single one.

    left_out(tables), where a file has it: how many rows of its tables it does not take, by what they are of.
    FITTED, where a file has it: (machine, group) of those rows of tables that constants of a machine were fitted to.
    """

    PART: Part | Literal[""]

    def rows(self, tables: Tables) -> Sequence[Row]:
        """Every measurement that there is, in an order that does not change. Raises UserError."""


def family_names() -> tuple[str, ...]:
    """Every family, sorted."""
    return modules(FAMILIES)


def family_named(name: str) -> Family:
    """The family `name`. Raises UnknownName."""
    return cast(Family, load_module(FAMILIES, name, "family"))


def rows_of(name: str, tables: Tables) -> tuple[Row, ...]:
    """Every row of the family `name`, with its family. Raises UnknownName, other UserErrors."""
    return tuple(replace(row, family=name) for row in family_named(name).rows(tables))


def left_out(name: str, tables: Tables) -> Mapping[str, int]:
    """Rows of a family's tables that it does not take, by what they are of; none for families that do not tell."""
    tell = getattr(family_named(name), "left_out", None)
    return cast(Mapping[str, int], tell(tables)) if tell else {}


def fitted(name: str) -> tuple[tuple[str, str], ...]:
    """(machine, group) of a family's rows of tables that constants were fitted to: to all of the sample or a part."""
    return cast(tuple[tuple[str, str], ...], getattr(family_named(name), "FITTED", ()))
