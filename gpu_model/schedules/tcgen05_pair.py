"""Blackwell in pairs: one thread issues products for two CTAs, each of which holds half of the common operand.

The tensor cores of both SMs read the operand's halves out of both shared memories (cta_group::2, 256 rows in all): a
slot is smaller, so more of them fit, and the common operand is read from the L2 once and arrives once for the pair.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from gpu_model.machine import Machine
from gpu_model.occupancy.tmem import ACCUMULATORS, issued, results_held
from gpu_model.roles import RING, all_loads, assemble, drain, hand_over, loop, ramp
from gpu_model.schedule import Job
from gpu_model.schedules import tcgen05
from gpu_model.tiles.cluster import meet_cluster, on_cta
from gpu_model.work import Choice, CtaDemand, Work
from patterns.pipeline.program import Barrier, Channel, Program, Role
from patterns.pipeline.script import Acquire, Effect, Fill, Free, Op, Start, Wait

LOADERS = tcgen05.LOADERS
SERVES: tuple[Job, ...] = ("mm",)
NEEDS: tuple[str, ...] = (*tcgen05.NEEDS, "clusters")
AUTO = True
WARPGROUPS = tcgen05.WARPGROUPS
CLUSTERS = (2,)
SPLITS_SHARED = True
BEGIN, END = "pair begin", "pair end"
CTAS = (0, 1)
OWN = (RING, ACCUMULATORS)
slot_counts = tcgen05.slot_counts


def demand(work: Work, choice: Choice, machine: Machine) -> CtaDemand:
    """As without a pair, with smaller slots."""
    return tcgen05.demand(work, choice, machine)


def predict(work: Work, choice: Choice, machine: Machine) -> int:
    """As without a pair; arrivals at the other CTA take longer, and the pair meets at both ends."""
    meetings = 2 * machine.cluster_barrier_cycles
    return tcgen05.predict(_second(work, machine), choice, _committing(machine)) + meetings


def program(work: Work, choice: Choice, machine: Machine) -> Program:
    """For each CTA of the pair a loading warp and warps that finish tiles; one thread that issues for both."""
    roles = []
    for cta in CTAS:
        of_cta = _second(work, machine) if cta else work
        begin = ramp(machine) + meet_cluster(BEGIN, len(CTAS), machine)
        end = meet_cluster(END, len(CTAS), machine) + drain(machine)
        roles += [
            Role(f"load{cta}", on_cta(begin + all_loads(of_cta, machine, choice), cta, OWN)),
            Role(f"epilogue{cta}", on_cta(tcgen05.ends(work, machine) + end, cta, OWN)),
        ]
    issues: tuple[Op, ...] = ()
    for wave in work.waves:
        issues += loop(wave.tiles, _tile(work, _committing(machine)), "tiles")
    sizes = ((RING, choice.slots), (ACCUMULATORS, results_held(work, machine)))
    channels = [Channel(f"{name}{cta}", slots) for cta in CTAS for name, slots in sizes]
    barriers = (Barrier(BEGIN), Barrier(END))
    return assemble(work.name, machine, tuple(channels), (*roles, Role("mma", issues)), barriers)


@lru_cache(maxsize=64)
def _committing(machine: Machine) -> Machine:
    """The machine as its pairs commit: one arrival more, at the other CTA."""
    return replace(machine, mma_wait_cycles=machine.mma_wait_cycles + machine.remote_arrive_cycles)


def _second(work: Work, machine: Machine) -> Work:
    """The work of the CTA that does not issue: its loads arrive at barriers of the one that does."""
    return replace(work, latency_cycles=work.latency_cycles + machine.remote_arrive_cycles)


def _tile(work: Work, machine: Machine) -> tuple[Op, ...]:
    """Products into free tensor memory of both CTAs; after the last one it is full."""
    step, last = (_step(work, machine, then) for then in ((), (Fill(ACCUMULATORS),)))
    return (
        *(Acquire(f"{ACCUMULATORS}{cta}") for cta in CTAS),
        *_seen(machine),
        *loop(work.steps - 1, step, "steps"),
        *last,
    )


def _step(work: Work, machine: Machine, then: tuple[Effect, ...]) -> tuple[Op, ...]:
    """One issue, which both tensor cores follow; each CTA's slot is free once they are through."""
    ops = issued(work.step, machine, (Free(RING), *then))
    followed = tuple(op for op in ops if isinstance(op, Start))
    waits = tuple(Wait(f"{RING}{cta}") for cta in CTAS)
    return (*waits, *_seen(machine), *on_cta(ops, 0, OWN), *on_cta(followed, 1, OWN))


def _seen(machine: Machine) -> tuple[Op, ...]:
    return on_cta(hand_over(machine), 0)
