"""What a schedule is: a file in schedules/ with these names. The file's name is the schedule's."""

from __future__ import annotations

from typing import Protocol, cast

from gpu_model.machine import Machine
from gpu_model.work import Choice, CtaDemand, Work
from patterns.errors import UnknownName
from patterns.pipeline.program import Program
from patterns.plugin import load_module, modules

SCHEDULES = "gpu_model.schedules"
AUTO = "auto"


class Schedule(Protocol):
    """LOADERS: those it can use, the usual one first. SERVES_MM: whether `auto` tries it for matrix products."""

    LOADERS: tuple[str, ...]
    SERVES_MM: bool

    def slot_counts(self, most: int) -> tuple[int, ...]:
        """Slot counts to try, at most `most`, fewest first."""

    def demand(self, work: Work, choice: Choice, machine: Machine) -> CtaDemand:
        """What one CTA needs of an SM."""

    def predict(self, work: Work, choice: Choice, machine: Machine) -> int:
        """Cycles in closed form, near what the simulation gives: by these, choices are made."""

    def program(self, work: Work, choice: Choice, machine: Machine) -> Program:
        """The roles, channels and units of one SM."""


def schedule_names() -> tuple[str, ...]:
    """Every schedule there is, and `auto`, which takes the one that is predicted to be fastest."""
    return (AUTO, *modules(SCHEDULES))


def schedule_named(name: str) -> Schedule:
    """The schedule `name`. Raises UnknownName."""
    return cast(Schedule, load_module(SCHEDULES, name, "schedule"))


def tried_for_products(name: str) -> tuple[str, ...]:
    """The schedules that matrix products are tried with: the named one, or all that serve them. Raises UnknownName."""
    if name not in schedule_names():
        raise UnknownName("schedule", name, schedule_names())
    return (name,) if name != AUTO else tuple(n for n in modules(SCHEDULES) if schedule_named(n).SERVES_MM)
