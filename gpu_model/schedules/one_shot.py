"""Sum over GPUs in one phase: every GPU sends all it has to all others, with flags in the data, and each adds it up."""

from __future__ import annotations

from fractions import Fraction

from gpu_model import exchange
from gpu_model.exchange import Phase
from gpu_model.machine import Machine
from gpu_model.schedule import Job
from gpu_model.work import Choice, Work
from patterns.pipeline.program import Program

LOADERS = exchange.LOADERS
SERVES: tuple[Job, ...] = ("collective",)
NEEDS: tuple[str, ...] = ()
AUTO = True
WARPGROUPS = (1,)
slot_counts = exchange.slot_counts
demand = exchange.demand


def phases(members: int, machine: Machine) -> tuple[Phase, ...]:
    """Everything to everybody: least latency, most bytes."""
    return (Phase(Fraction(members - 1), peers=members - 1),)


def predict(work: Work, choice: Choice, machine: Machine) -> int:
    """Its phases, one after another."""
    return exchange.predicted(work, choice, machine, phases(work.members, machine))


def program(work: Work, choice: Choice, machine: Machine) -> Program:
    """A role that loads, and one that exchanges and stores."""
    return exchange.program(work, choice, machine, phases(work.members, machine))
