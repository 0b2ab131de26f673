"""Sum over GPUs in the switch (NVLink SHARP): a load through it returns the sum of all members, a store goes to all.

A GPU answers for all of its payload and asks for its part of the sum, and stores that part to all. The filling and
draining of the pipeline of chunks through the switch is what short sums pay."""

from __future__ import annotations

from fractions import Fraction

from gpu_model import exchange
from gpu_model.exchange import Phase, in_clock
from gpu_model.machine import Machine
from gpu_model.schedule import Job
from gpu_model.work import Choice, Work
from patterns.pipeline.program import Program

LOADERS = exchange.LOADERS
SERVES: tuple[Job, ...] = ("collective",)
NEEDS: tuple[str, ...] = ("multimem",)
AUTO = True
WARPGROUPS = (1,)
slot_counts = exchange.slot_counts
demand = exchange.demand


def phases(members: int, machine: Machine) -> tuple[Phase, ...]:
    """The payload once, and its part of the sum."""
    share = Fraction(members + 1, members)
    fill = in_clock(machine.multimem_fill_ps, machine)
    return (Phase(share, peers=members - 1, before_cycles=fill),)


def predict(work: Work, choice: Choice, machine: Machine) -> int:
    """Its phases, one after another."""
    return exchange.predicted(work, choice, machine, phases(work.members, machine))


def program(work: Work, choice: Choice, machine: Machine) -> Program:
    """A role that loads, and one that exchanges and stores."""
    return exchange.program(work, choice, machine, phases(work.members, machine))
