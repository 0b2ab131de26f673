"""Tiles stream through an SM: one role loads, one computes, one stores, with a ring on either side of the middle."""

from __future__ import annotations

from gpu_model.fit import specialized
from gpu_model.machine import Machine
from gpu_model.ring_paths import stream_slots
from gpu_model.roles import (
    RING,
    all_loads,
    assemble,
    compute_step,
    computing_cycles,
    drain,
    fed_cycles,
    loading_cycles,
    loop,
    needed,
    ramp,
    used_cycles,
)
from gpu_model.schedule import Job
from gpu_model.work import Choice, CtaDemand, Work
from patterns.pipeline.program import Channel, Program, Role
from patterns.pipeline.script import Acquire, Commit, Op, Release, Wait

LOADERS = ("tma", "cp_async", "registers")
SERVES: tuple[Job, ...] = ("stream",)
NEEDS: tuple[str, ...] = ()
AUTO = True
WARPGROUPS = (1, 2)
RESULTS = "results"
RESULT_SLOTS = 2
slot_counts = stream_slots


def demand(work: Work, choice: Choice, machine: Machine) -> CtaDemand:
    """A producer warpgroup and the computing ones; results leave from registers."""
    return specialized(work, choice, machine)


def predict(work: Work, choice: Choice, machine: Machine) -> int:
    """Fill, then the slowest of loads, computing and stores, then what the last tile still needs."""
    issue, step = loading_cycles(work, choice, machine), computing_cycles(work.step, machine)
    used = used_cycles(work, issue, step, choice.slots, [work.finish_cycles] * len(work.waves))
    stored = sum(wave.tiles * wave.store.cycles for wave in work.waves)
    first, last = work.waves[0].load, work.waves[-1].store
    loaded = sum(wave.tiles * work.steps * wave.load.cycles for wave in work.waves)
    shared = loaded + stored if first.unit == last.unit else 0
    end = step + work.finish_cycles + last.cycles
    stream = max(fed_cycles(work, issue) + end, first.cycles + used + last.cycles, first.cycles + stored)
    # On one unit, loads of later tiles and stores of earlier ones fill each other's waits.
    busy = max(work.latency_cycles + stream, shared)
    return machine.kernel_ramp_cycles + issue + busy + machine.kernel_drain_cycles


def at_least(work: Work, machine: Machine) -> int:
    """`predict` with a slot for every step, and loads that take no issue but seeing that a slot is free."""
    step = computing_cycles(work.step, machine)
    first, last = work.waves[0].load, work.waves[-1].store
    loaded = sum([wave.tiles * work.steps * wave.load.cycles for wave in work.waves])
    stored = sum([wave.tiles * wave.store.cycles for wave in work.waves])
    used = work.tiles * (work.steps * step + work.finish_cycles)
    stream = max(loaded + step + work.finish_cycles + last.cycles, first.cycles + used + last.cycles)
    busy = work.latency_cycles + max(stream, first.cycles + stored)
    shared = loaded + stored if first.unit == last.unit else 0
    return machine.kernel_ramp_cycles + machine.barrier_cycles + max(busy, shared) + machine.kernel_drain_cycles


def program(work: Work, choice: Choice, machine: Machine) -> Program:
    """Three roles, persistent: loads of later tiles, computing and stores of earlier ones overlap."""
    computes: tuple[Op, ...] = ()
    stores: tuple[Op, ...] = ()
    for wave in work.waves:
        tile = (
            *loop(work.steps, compute_step(work, machine), "steps"),
            Acquire(RESULTS),
            *needed(*work.finish),
            Commit(RESULTS),
        )
        computes += loop(wave.tiles, tile, "tiles")
        stores += loop(wave.tiles, (Wait(RESULTS), *needed(wave.store), Release(RESULTS)), "stores")
    loading = Role("load", ramp(machine) + all_loads(work, machine, choice))
    roles = (loading, Role("compute", computes), Role("store", stores + drain(machine)))
    channels = (Channel(RING, choice.slots), Channel(RESULTS, RESULT_SLOTS))
    return assemble(work.name, machine, channels, roles)
