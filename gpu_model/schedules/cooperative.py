"""A producer warp, and consumer warpgroups that compute each tile together, every one its rows of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
    meet,
    ramp,
    shared,
)
from gpu_model.schedule import Job
from gpu_model.work import Choice, CtaDemand, Use, Work
from patterns.pipeline.program import Barrier, Channel, Program, Role
from patterns.pipeline.script import Op

LOADERS = ("tma", "cp_async")
SERVES: tuple[Job, ...] = ("mm",)
NEEDS: tuple[str, ...] = ()
AUTO = True
WARPGROUPS = (2, 3)
# The CTAs of a cluster do the same at the same time: one of them is simulated, and the L2 reads what they share once.
CLUSTERS = (1, 2)
TOGETHER = "together"
slot_counts = deepest_ring


def demand(work: Work, choice: Choice, machine: Machine) -> CtaDemand:
    """A producer warpgroup, and consumers that all have the registers of the one with most rows."""
    blocks = -(-work.row_blocks // choice.warpgroups)
    most = -(-work.accumulators * blocks // work.row_blocks)
    return specialized(work, choice, machine, most * choice.warpgroups)


def predict(work: Work, choice: Choice, machine: Machine) -> int:
    """The longest way through the ring; the consumers share every unit, and end their tiles together."""
    parts = [shared(work.step, work, part, choice.warpgroups) for part in range(choice.warpgroups)]
    on_units = _by_unit(use for uses in parts for use in uses)
    alone = max(computing_cycles(uses, machine) for uses in parts)
    # The last consumer waits for the others at the unit that they use most.
    hold = max(alone, alone + max(on_units.values()) - max(max(_by_unit(uses).values()) for uses in parts))
    meeting = 2 * machine.barrier_cycles
    ends = [meeting + _in_turn(work, (*work.finish, wave.store), choice) for wave in work.waves]
    step = max(alone, *on_units.values())
    ring = Ring(work, choice.slots, loading_cycles(work, choice, machine), step, hold, ends)
    longest = max(ring.one_by_one_cycles(), ring.streamed_cycles(), ring.lapped_cycles())
    return machine.kernel_ramp_cycles + longest + machine.kernel_drain_cycles


def at_least(work: Work, machine: Machine) -> int:
    """`predict` with a slot for every step, whatever part of a tile the consumers have.

    Together they use each unit as long as one alone would; the one with most rows has as much as others on average.
    """
    alone = machine.barrier_cycles + sum([use.cycles for use in work.step]) // WARPGROUPS[-1]
    ends = [2 * machine.barrier_cycles + wave.store.cycles for wave in work.waves]
    ring = roomy(work, machine, max(alone, *_by_unit(work.step).values()), alone, ends)
    longest = max(ring.one_by_one_cycles(), ring.streamed_cycles())
    return machine.kernel_ramp_cycles + longest + machine.kernel_drain_cycles


def _in_turn(work: Work, uses: tuple[Use, ...], choice: Choice) -> int:
    """Uses that all consumers begin together: one passes every unit, the others follow on the one that takes longest.

    The last consumer has as many rows as any.
    """
    parts = [_by_unit(shared(uses, work, part, choice.warpgroups)) for part in range(choice.warpgroups)]
    return sum(parts[-1].values()) + sum(max(part.values()) for part in parts[:-1])


def _by_unit(uses: Iterable[Use]) -> Mapping[str, int]:
    cycles = {"": 0}
    for use in uses:
        cycles[use.unit] = cycles.get(use.unit, 0) + use.cycles
    return cycles


def program(work: Work, choice: Choice, machine: Machine) -> Program:
    """Persistent. A slot is free once all consumers gave it back; they enter and leave the end of a tile together."""
    producer = ramp(machine) + all_loads(work, machine, choice)
    consumers = tuple(
        Role(f"consumer{part}", _consumer(work, part, choice, machine)) for part in range(choice.warpgroups)
    )
    ring = Channel(RING, choice.slots, readers=choice.warpgroups)
    return assemble(work.name, machine, (ring,), (Role("producer", producer), *consumers), (Barrier(TOGETHER),))


def _consumer(work: Work, part: int, choice: Choice, machine: Machine) -> tuple[Op, ...]:
    parts, together = choice.warpgroups, meet(TOGETHER, choice.warpgroups, machine)
    script: tuple[Op, ...] = ()
    for wave in work.waves:
        steps = loop(work.steps, compute_step(work, machine, part, parts), "steps")
        script += loop(wave.tiles, steps + together + end_tile(work, wave, part, parts) + together, "tiles")
    return script + (drain(machine) if part == parts - 1 else ())
