"""A producer warp, and two consumers that take tiles in turn: one ends its tile while the other computes.

Their main loops are ordered by barriers, so that the tensor core works on one tile at a time and never on a mixture.
"""

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
    take_turn,
)
from gpu_model.schedule import Job
from gpu_model.work import Choice, CtaDemand, Work
from patterns.pipeline.hashed import changed
from patterns.pipeline.program import Barrier, Channel, Program, Role
from patterns.pipeline.script import Arrive, Op

LOADERS = ("tma", "cp_async")
SERVES: tuple[Job, ...] = ("mm",)
NEEDS: tuple[str, ...] = ()
AUTO = True
WARPGROUPS = (1,)
# The CTAs of a cluster do the same at the same time: one of them is simulated, and the L2 reads what they share once.
CLUSTERS = (1, 2)
CONSUMERS = 2
slot_counts = deepest_ring


def demand(work: Work, choice: Choice, machine: Machine) -> CtaDemand:
    """A producer warpgroup and two consumers, each with the accumulators of a whole tile in its registers."""
    wider = changed(choice, warpgroups=CONSUMERS * choice.warpgroups)
    return specialized(work, wider, machine, CONSUMERS * work.accumulators)


def predict(work: Work, choice: Choice, machine: Machine) -> int:
    """The longest way through the ring, main loops in turn and ends beside them."""
    issue, step = loading_cycles(work, choice, machine), computing_cycles(work.step, machine)
    ends = [work.end_cycles(wave) for wave in work.waves]
    ring = Ring(work, choice.slots, issue, step, step, ends)
    longest = max(ring.in_turn_cycles(CONSUMERS), ring.streamed_cycles(), ring.lapped_cycles())
    turns = machine.barrier_cycles * work.tiles
    return machine.kernel_ramp_cycles + turns + longest + machine.kernel_drain_cycles


def at_least(work: Work, machine: Machine) -> int:
    """`predict` with a slot for every step."""
    step = computing_cycles(work.step, machine)
    ring = roomy(work, machine, step, step, [work.end_cycles(wave) for wave in work.waves])
    turns = machine.barrier_cycles * work.tiles
    longest = max(ring.least_in_turn_cycles(CONSUMERS), ring.streamed_cycles())
    return machine.kernel_ramp_cycles + turns + longest + machine.kernel_drain_cycles


def program(work: Work, choice: Choice, machine: Machine) -> Program:
    """Persistent. The producer streams the steps of all tiles; whose tile they are follows from the turns."""
    producer = ramp(machine) + all_loads(work, machine, choice)
    roles = [Role("producer", producer)]
    roles += [Role(f"consumer{me}", _consumer(work, me, machine)) for me in range(min(CONSUMERS, work.tiles))]
    barriers = tuple(Barrier(turn_of(me)) for me in range(CONSUMERS))
    return assemble(work.name, machine, (Channel(RING, choice.slots),), tuple(roles), barriers)


def turn_of(consumer: int) -> str:
    """The barrier that says it is this consumer's turn."""
    return f"turn{consumer}"


def _consumer(work: Work, me: int, machine: Machine) -> tuple[Op, ...]:
    other = (me + 1) % CONSUMERS
    script: tuple[Op, ...] = () if me else (Arrive(turn_of(0)),)
    first = 0
    for wave in work.waves:
        mine = sum(tile % CONSUMERS == me for tile in range(first, first + wave.tiles))
        steps = loop(work.steps, compute_step(work, machine), "steps")
        turn = take_turn(turn_of(me), steps, turn_of(other), machine)
        script += loop(mine, turn + end_tile(work, wave), "tiles")
        first += wave.tiles
    return script + (drain(machine) if (work.tiles - 1) % CONSUMERS == me else ())
