"""A producer warp streams operands through a ring of slots; one consumer computes, finishes tiles and stores them."""

from __future__ import annotations

from gpu_model.fit import specialized
from gpu_model.machine import Machine
from gpu_model.ring_paths import Ring, deepest_ring, roomy
from gpu_model.roles import (
    RING,
    all_loads,
    assemble,
    compute_step,
    computing_cycles,
    drain,
    end_tile,
    loading_cycles,
    loop,
    ramp,
)
from gpu_model.schedule import Job
from gpu_model.work import Choice, CtaDemand, Work
from patterns.pipeline.program import Channel, Program, Role
from patterns.pipeline.script import Op

LOADERS = ("tma", "cp_async")
SERVES: tuple[Job, ...] = ("mm",)
NEEDS: tuple[str, ...] = ()
AUTO = True
WARPGROUPS = (1, 2, 3)
# The CTAs of a cluster do the same at the same time: one of them is simulated, and the L2 reads what they share once.
CLUSTERS = (1, 2)
slot_counts = deepest_ring


def demand(work: Work, choice: Choice, machine: Machine) -> CtaDemand:
    """A producer warpgroup and the consumer's; setmaxnreg moves registers from the first to the second."""
    return specialized(work, choice, machine)


def predict(work: Work, choice: Choice, machine: Machine) -> int:
    """The longest way through the ring, one tile after another."""
    issue, step = loading_cycles(work, choice, machine), computing_cycles(work.step, machine)
    ring = Ring(work, choice.slots, issue, step, step, [work.end_cycles(wave) for wave in work.waves])
    longest = max(ring.one_by_one_cycles(), ring.streamed_cycles(), ring.lapped_cycles())
    return machine.kernel_ramp_cycles + longest + machine.kernel_drain_cycles


def at_least(work: Work, machine: Machine) -> int:
    """`predict` with a slot for every step."""
    step = computing_cycles(work.step, machine)
    ring = roomy(work, machine, step, step, [work.end_cycles(wave) for wave in work.waves])
    longest = max(ring.one_by_one_cycles(), ring.streamed_cycles())
    return machine.kernel_ramp_cycles + longest + machine.kernel_drain_cycles


def program(work: Work, choice: Choice, machine: Machine) -> Program:
    """Two roles. Persistent: the CTA keeps its SM, and the producer loads the next tile while this one is stored."""
    producer = ramp(machine) + all_loads(work, machine, choice)
    consumer: tuple[Op, ...] = ()
    for wave in work.waves:
        consumer += loop(
            wave.tiles, loop(work.steps, compute_step(work, machine), "steps") + end_tile(work, wave), "tiles"
        )
    roles = (Role("producer", producer), Role("consumer", consumer + drain(machine)))
    return assemble(work.name, machine, (Channel(RING, choice.slots),), roles)
