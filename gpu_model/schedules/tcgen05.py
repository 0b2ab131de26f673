"""Blackwell: one thread issues every matrix product, results gather in tensor memory, other warps finish the tiles.

The issuing thread waits for no product: a commit gives a slot back once the tensor core is through with it. Tensor
memory holds two tiles where they are small enough, so that one is finished and stored while the next is multiplied.
"""

from __future__ import annotations

from gpu_model.fit import ring_bytes
from gpu_model.machine import Machine
from gpu_model.occupancy.limits import WARPGROUP
from gpu_model.occupancy.tmem import (
    ACCUMULATORS,
    allocated_columns,
    epilogue_registers,
    issued,
    multiplied,
    results_held,
)
from gpu_model.ring_paths import DEEPEST, fullest_ring
from gpu_model.roles import (
    RING,
    all_loads,
    assemble,
    drain,
    fed_cycles,
    hand_over,
    loading_cycles,
    loop,
    needed,
    ramp,
)
from gpu_model.schedule import Job
from gpu_model.work import Choice, CtaDemand, RoleDemand, Work
from patterns.pipeline.program import Channel, Program, Role
from patterns.pipeline.script import Acquire, Fill, Free, Op, Release, Wait

LOADERS = ("tma",)
SERVES: tuple[Job, ...] = ("mm",)
NEEDS: tuple[str, ...] = ("tcgen05", "tmem", "tma")
AUTO = True
WARPGROUPS = (1, 2)
slot_counts = fullest_ring


def demand(work: Work, choice: Choice, machine: Machine) -> CtaDemand:
    """A warpgroup with the loading and the issuing warp, and those that finish tiles; accumulators in tensor memory."""
    registers = epilogue_registers(machine)
    roles = (
        RoleDemand("loading and issuing warps", WARPGROUP, registers),
        RoleDemand("epilogue", choice.warpgroups * WARPGROUP, registers),
    )
    return CtaDemand(roles, ring_bytes(work, choice, machine), tmem_columns=allocated_columns(work, machine))


def predict(work: Work, choice: Choice, machine: Machine) -> int:
    """The slowest of the loads, the products, the ring and the ends of tiles, each a stream; plus fill and drain."""
    return _longest(work, choice.slots, loading_cycles(work, choice, machine), machine)


def at_least(work: Work, machine: Machine) -> int:
    """`predict` with a slot for every step, and loads that take no issue but seeing that a slot is free."""
    return _longest(work, max(DEEPEST, work.tiles * work.steps), machine.barrier_cycles, machine)


def _longest(work: Work, slots: int, issue: int, machine: Machine) -> int:
    multiply = multiplied(work, machine)
    first, last = work.waves[0], work.waves[-1]
    arrival = issue + first.load.cycles + work.latency_cycles
    end = work.end_cycles(last) + 2 * machine.barrier_cycles
    # Where one tile fills tensor memory, the next waits until its sums are read.
    handed_over = multiply.latency_cycles - multiply.cycles + work.finish_cycles + 2 * machine.barrier_cycles
    waits = (work.tiles - 1) * (0 if results_held(work, machine) > 1 else handed_over)
    steps = work.tiles * work.steps
    trips = stores = shared = 0
    for wave in work.waves:
        trips += wave.tiles * work.steps * (issue + wave.load.cycles + work.latency_cycles + multiply.latency_cycles)
        stores += wave.tiles * (work.end_cycles(wave) + machine.barrier_cycles)
        shared += wave.tiles * (work.steps * wave.load.cycles + wave.store.cycles)
    main = (work.steps - 1) * max(multiply.cycles, first.load.cycles) + multiply.latency_cycles
    stream = max(
        arrival + steps * multiply.cycles + waits + multiply.latency_cycles - multiply.cycles + end,
        arrival + trips * (steps - 1) // (steps * slots) + multiply.latency_cycles + end,
        issue + work.latency_cycles + fed_cycles(work, issue) + multiply.latency_cycles + end,
        arrival + main + stores + machine.barrier_cycles,
        issue + shared if last.store.unit == first.load.unit else 0,
    )
    return machine.kernel_ramp_cycles + stream + machine.kernel_drain_cycles


def program(work: Work, choice: Choice, machine: Machine) -> Program:
    """Three roles, persistent: a loading warp, an issuing thread, and the warps that finish tiles and store them."""
    issues: tuple[Op, ...] = ()
    for wave in work.waves:
        issues += loop(wave.tiles, _tile(work, machine), "tiles")
    roles = (
        Role("load", ramp(machine) + all_loads(work, machine, choice)),
        Role("mma", issues),
        Role("epilogue", ends(work, machine) + drain(machine)),
    )
    channels = (Channel(RING, choice.slots), Channel(ACCUMULATORS, results_held(work, machine)))
    return assemble(work.name, machine, channels, roles)


def ends(work: Work, machine: Machine) -> tuple[Op, ...]:
    """The ends of all tiles of a CTA: sums are read out of tensor memory, which is then free, and results stored."""
    script: tuple[Op, ...] = ()
    for wave in work.waves:
        read = (Wait(ACCUMULATORS), *hand_over(machine), *needed(*work.finish), Release(ACCUMULATORS))
        script += loop(wave.tiles, (*read, *needed(wave.store)), "tiles")
    return script


def _tile(work: Work, machine: Machine) -> tuple[Op, ...]:
    """Products into free tensor memory; after the last one it is full."""
    wait = (Wait(RING), *hand_over(machine))
    step, last = (wait + issued(work.step, machine, (Free(RING), *then)) for then in ((), (Fill(ACCUMULATORS),)))
    return (Acquire(ACCUMULATORS), *hand_over(machine), *loop(work.steps - 1, step, "steps"), *last)
