"""The next step is loaded into registers while this one is computed, then written to the other of two buffers.

What came before cp.async: the transfer and its latency are hidden, the way from registers to shared memory is not.
"""

from __future__ import annotations

from gpu_model.fit import uniform
from gpu_model.machine import Machine
from gpu_model.occupancy.resident import least_of_ctas
from gpu_model.price import issue_cycles, staging_cycles
from gpu_model.roles import (
    REGISTERS,
    RING,
    assemble,
    compute_step,
    computing_cycles,
    drain,
    end_tile,
    fetch_step,
    loop,
    ramp,
    stage_step,
)
from gpu_model.schedule import Job
from gpu_model.work import Choice, CtaDemand, Wave, Work
from patterns.pipeline.program import Channel, Program, Role
from patterns.pipeline.script import Op

LOADERS = ("registers",)
SERVES: tuple[Job, ...] = ("mm",)
NEEDS: tuple[str, ...] = ()
AUTO = True
RESIDENT = True
WARPGROUPS = (1, 2)
at_least = least_of_ctas


def slot_counts(most: int) -> tuple[int, ...]:
    """Two buffers: one is computed on, the other is written."""
    return (2,) if most >= 2 else (1,)[:most]


def demand(work: Work, choice: Choice, machine: Machine) -> CtaDemand:
    """All warps load and compute, and hold a step's operands in registers beside the accumulators."""
    return uniform(work, choice, machine)


def predict(work: Work, choice: Choice, machine: Machine) -> int:
    """The first load and its staging; then the longer of a load and a step, with issue and staging around it."""
    issue = issue_cycles(machine, choice.loader, work.slot_bytes)
    staging, step = staging_cycles(machine, work.slot_bytes), computing_cycles(work.step, machine)
    total = machine.kernel_ramp_cycles + machine.kernel_drain_cycles
    for wave in work.waves:
        arrival = wave.load.cycles + work.latency_cycles
        steady = (work.steps - 1) * (issue + max(arrival, step) + staging)
        total += wave.tiles * (issue + arrival + staging + steady + step + work.end_cycles(wave))
    return total


def program(work: Work, choice: Choice, machine: Machine) -> Program:
    """One role: a load is under way while the step before it is computed. A CTA ends with its tile."""
    script: tuple[Op, ...] = ramp(machine)
    for wave in work.waves:
        script += loop(wave.tiles, _tile(work, wave, choice, machine), "tiles")
    channels = (Channel(REGISTERS, 1), Channel(RING, choice.slots))
    return assemble(work.name, machine, channels, (Role("cta", script + drain(machine)),))


def _tile(work: Work, wave: Wave, choice: Choice, machine: Machine) -> tuple[Op, ...]:
    fetch, stage = fetch_step(work, wave, machine, choice), stage_step(work, machine)
    compute = compute_step(work, machine)
    return fetch + stage + loop(work.steps - 1, fetch + compute + stage, "steps") + compute + end_tile(work, wave)
