"""Every step waits for the one before: load, compute, load again."""

from __future__ import annotations

from gpu_model.fit import uniform
from gpu_model.loader import is_staged
from gpu_model.machine import Machine
from gpu_model.occupancy.resident import least_of_ctas
from gpu_model.price import staging_cycles
from gpu_model.roles import (
    REGISTERS,
    RING,
    assemble,
    compute_step,
    computing_cycles,
    drain,
    end_tile,
    fetch_step,
    load_step,
    loading_cycles,
    loop,
    ramp,
    stage_step,
)
from gpu_model.schedule import Job
from gpu_model.work import Choice, CtaDemand, Wave, Work
from patterns.pipeline.program import Channel, Program, Role
from patterns.pipeline.script import Op

LOADERS = ("cp_async", "tma", "registers")
SERVES: tuple[Job, ...] = ("mm",)
NEEDS: tuple[str, ...] = ()
AUTO = True
RESIDENT = True
WARPGROUPS = (1, 2)
at_least = least_of_ctas


def slot_counts(most: int) -> tuple[int, ...]:
    """One slot: nothing is loaded ahead."""
    return (1,)[:most]


def demand(work: Work, choice: Choice, machine: Machine) -> CtaDemand:
    """All warps load and compute."""
    return uniform(work, choice, machine)


def predict(work: Work, choice: Choice, machine: Machine) -> int:
    """The sum of everything, in cycles: nothing overlaps."""
    staged = staging_cycles(machine, work.slot_bytes) if is_staged(choice.loader) else 0
    computing = computing_cycles(work.step, machine)
    step = loading_cycles(work, choice, machine) + work.latency_cycles + staged + computing
    tiles = sum(w.tiles * (work.steps * (step + w.load.cycles) + work.end_cycles(w)) for w in work.waves)
    return machine.kernel_ramp_cycles + tiles + machine.kernel_drain_cycles


def program(work: Work, choice: Choice, machine: Machine) -> Program:
    """One role. A CTA ends with its tile: the next tile's first load waits for this tile's store."""
    script: tuple[Op, ...] = ramp(machine)
    for wave in work.waves:
        step = _load(work, wave, choice, machine) + compute_step(work, machine)
        script += loop(wave.tiles, loop(work.steps, step, "steps") + end_tile(work, wave), "tiles")
    staged = (Channel(REGISTERS, 1),) if is_staged(choice.loader) else ()
    return assemble(work.name, machine, (*staged, Channel(RING, 1)), (Role("cta", script + drain(machine)),))


def _load(work: Work, wave: Wave, choice: Choice, machine: Machine) -> tuple[Op, ...]:
    if is_staged(choice.loader):
        return fetch_step(work, wave, machine, choice) + stage_step(work, machine)
    return load_step(work, wave, machine, choice)
