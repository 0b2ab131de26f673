"""What there is to choose from, each with one line about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module

from experiments.sides import MODELS, machine_names, mode_names
from experiments.text.rules import rule_of
from patterns.plugin import modules


@dataclass(frozen=True)
class Entry:
    """A name that a command takes, and what it stands for."""

    name: str
    about: str


def machines() -> list[Entry]:
    """Machines of both families."""
    return [Entry(name, family.upper()) for family in MODELS for name in machine_names(family)]


def graphs() -> list[Entry]:
    """Ready-made graphs and model configurations."""
    from patterns.library import names

    return [Entry(name, "") for name in names()]


def policies() -> list[Entry]:
    """Fusion policies of the GPU and modes of the RDU."""
    return [Entry(mode, f"{family.upper()}: {rule_of(mode)}") for family in MODELS for mode in mode_names(family)]


def schedules() -> list[Entry]:
    """Schedules of both families: the files of their folders."""
    return [
        Entry(name, f"{family.upper()}: {first_line(f'{model}.schedules.{name}')}")
        for family, model in MODELS.items()
        for name in modules(f"{model}.schedules")
    ]


def studies() -> list[Entry]:
    """Experiments that can be run by name."""
    return [Entry(name, first_line(f"experiments.studies.{name}")) for name in modules("experiments.studies")]


def first_line(module: str) -> str:
    """The first line of a module's docstring."""
    return (import_module(module).__doc__ or "").strip().split("\n")[0]


SECTION_ENTRIES: Mapping[str, Callable[[], list[Entry]]] = {
    "machines": machines,
    "graphs": graphs,
    "policies": policies,
    "schedules": schedules,
    "studies": studies,
}
