"""Sum over GPUs round a ring: in each of 2 (p - 1) rounds a GPU sends 1 / p of the payload to its neighbour."""

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
    """As few bytes as two phases, over links to two neighbours only; a latency for each round."""
    rounds = 2 * (members - 1)
    return (Phase(Fraction(rounds, members), peers=1, rounds=rounds),)


def predict(work: Work, choice: Choice, machine: Machine) -> int:
    """Its phases, one after another."""
    return exchange.predicted(work, choice, machine, phases(work.members, machine))


def program(work: Work, choice: Choice, machine: Machine) -> Program:
    """A role that loads, and one that exchanges and stores."""
    return exchange.program(work, choice, machine, phases(work.members, machine))
