"""Sum over GPUs in two phases: each GPU gathers and adds up one part of the result, then all exchange the parts.

Fewer bytes than one phase with everything, for more meetings: before, between and after the phases the GPUs wait for
each other."""

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
NEEDS: tuple[str, ...] = ()
AUTO = True
WARPGROUPS = (1,)
slot_counts = exchange.slot_counts
demand = exchange.demand


def phases(members: int, machine: Machine) -> tuple[Phase, ...]:
    """A reduce-scatter, a barrier, an all-gather."""
    share, barrier = Fraction(members - 1, members), in_clock(machine.network_barrier_ps, machine)
    # The last barrier keeps a GPU from overwriting what others still read: its cost is paid with the second.
    return (
        Phase(share, peers=members - 1, before_cycles=barrier),
        Phase(share, peers=members - 1, before_cycles=2 * barrier),
    )


def predict(work: Work, choice: Choice, machine: Machine) -> int:
    """Its phases, one after another."""
    return exchange.predicted(work, choice, machine, phases(work.members, machine))


def program(work: Work, choice: Choice, machine: Machine) -> Program:
    """A role that loads, and one that exchanges and stores."""
    return exchange.program(work, choice, machine, phases(work.members, machine))
