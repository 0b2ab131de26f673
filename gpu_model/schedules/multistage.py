"""Software pipelining with cp.async: the computing warps load `slots - 1` steps ahead, and pay for issuing it."""

from __future__ import annotations

from gpu_model.fit import uniform
from gpu_model.machine import Machine
from gpu_model.occupancy.resident import least_of_ctas
from gpu_model.roles import (
    RING,
    assemble,
    compute_step,
    computing_cycles,
    drain,
    end_tile,
    load_step,
    loading_cycles,
    loop,
    ramp,
)
from gpu_model.schedule import Job
from gpu_model.work import Choice, CtaDemand, Wave, Work
from patterns.pipeline.program import Channel, Program, Role
from patterns.pipeline.script import Op

LOADERS = ("cp_async", "tma")
SERVES: tuple[Job, ...] = ("mm",)
NEEDS: tuple[str, ...] = ()
AUTO = True
RESIDENT = True
WARPGROUPS = (1, 2)
at_least = least_of_ctas


def slot_counts(most: int) -> tuple[int, ...]:
    """Stage counts to try, fewest first."""
    return tuple(n for n in (2, 3, 4, 6, 8) if n <= most)


def demand(work: Work, choice: Choice, machine: Machine) -> CtaDemand:
    """All warps load and compute."""
    return uniform(work, choice, machine)


def predict(work: Work, choice: Choice, machine: Machine) -> int:
    """Every tile by itself: the longest of all computing with its issues, all loads, and slots going round."""
    issue, step = loading_cycles(work, choice, machine), computing_cycles(work.step, machine)
    ahead, laps = min(choice.slots - 1, work.steps), (work.steps - 1) // choice.slots
    total = machine.kernel_ramp_cycles + machine.kernel_drain_cycles
    for wave in work.waves:
        arrival = issue + wave.load.cycles + work.latency_cycles
        # The first step waits for its load, and at least until all loads ahead are issued.
        start = max(arrival, issue * min(choice.slots, work.steps))
        computed = start + work.steps * step + max(0, work.steps - ahead - 1) * issue
        loaded = arrival + (work.steps - 1) * wave.load.cycles + step
        left = work.steps - 1 - laps * choice.slots
        lapped = start + laps * (arrival + step) + left * max(wave.load.cycles, step) + step
        total += wave.tiles * (max(computed, loaded, lapped) + work.end_cycles(wave))
    return total


def program(work: Work, choice: Choice, machine: Machine) -> Program:
    """One role: `slots - 1` loads, then a load and a step together, then the last steps without loads.

    A CTA ends with its tile: fill and store of every tile are exposed.
    """
    script: tuple[Op, ...] = ramp(machine)
    for wave in work.waves:
        script += loop(wave.tiles, _tile(work, wave, choice, machine), "tiles")
    return assemble(work.name, machine, (Channel(RING, choice.slots),), (Role("cta", script + drain(machine)),))


def _tile(work: Work, wave: Wave, choice: Choice, machine: Machine) -> tuple[Op, ...]:
    ahead = min(choice.slots - 1, work.steps)
    load, compute = load_step(work, wave, machine, choice), compute_step(work, machine)
    return (
        loop(ahead, load, "prologue")
        + loop(work.steps - ahead, load + compute, "steps")
        + loop(ahead, compute, "last steps")
        + end_tile(work, wave)
    )
