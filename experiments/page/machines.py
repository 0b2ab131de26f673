"""The machines' parameters as tables: each value as its file writes it, with where it is from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from experiments.page.parts import part_markup
from experiments.page.render import markup
from experiments.settings import settle
from experiments.sides import MODELS, sides
from experiments.text.table import Column, Table

if TYPE_CHECKING:
    from markupsafe import Markup

    from experiments.request import Request
    from experiments.sides import Family
    from patterns.documents.parameters import Parameters


@dataclass(frozen=True)
class MachineTable:
    """All parameters of one machine."""

    title: str
    table: Markup


def machine_tables(request: Request) -> Iterator[MachineTable]:
    """One for each side of a comparison."""
    both = sides(request)
    settings = settle(request, both)
    for side in both:
        parameters = parameters_of(side.family, side.machine, settings.of_machine(side.family))
        rows = tuple((origin.field, origin.used.written, origin.used.source) for origin in parameters.origins)
        columns = (Column("parameter", right=False), Column("value", right=False), Column("source", right=False))
        title = f"Parameters of {side.machine} ({len(rows)}), and where each is from"
        yield MachineTable(title, markup(part_markup(Table(columns, rows))))


def parameters_of(family: Family, name: str, overrides: Mapping[str, str]) -> Parameters[object]:  # type: ignore[type-var]
    """A machine's parameters with their sources."""
    return import_module(f"{MODELS[family]}.machine").read_machine(name, overrides)  # type: ignore[no-any-return]
