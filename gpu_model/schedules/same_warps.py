"""Every warp runs all nodes of a kernel on its own points, as a kernel without specialised computing warps does.

Every thread holds the constants of all nodes. What `singe` is compared with.
"""

from __future__ import annotations

from dataclasses import replace

from gpu_model.machine import Machine
from gpu_model.occupancy.limits import WARP, WARPGROUP
from gpu_model.ring_paths import stream_slots
from gpu_model.roles import RING, all_loads, assemble, drain, fed_cycles, hand_over, loading_cycles, loop, needed, ramp
from gpu_model.schedule import Job
from gpu_model.warps.assignment import lanes_of, registers_of, side_by_side
from gpu_model.work import Choice, CtaDemand, RoleDemand, Task, Use, Work
from patterns.pipeline.program import Channel, Program, Role
from patterns.pipeline.script import Acquire, Commit, Op, Release, Wait

LOADERS = ("tma", "cp_async", "registers")
SERVES: tuple[Job, ...] = ("stream",)
NEEDS: tuple[str, ...] = ()
AUTO = False
BY_TASKS = True
WARPGROUPS = (1, 2, 3)
RESULTS = "results"
RESULT_SLOTS = 2
slot_counts = stream_slots


def demand(work: Work, choice: Choice, machine: Machine) -> CtaDemand:
    """All computing threads hold the constants and values of all nodes."""
    roles = (
        RoleDemand("loading and storing warps", WARPGROUP, machine.registers_beside_accumulators),
        RoleDemand("computing warps", choice.warpgroups * WARPGROUP, registers_of(work.tasks, machine)),
    )
    return CtaDemand(roles, choice.slots * (work.slot_bytes + machine.barrier_bytes) + work.held_bytes)


def predict(work: Work, choice: Choice, machine: Machine) -> int:
    """Fill, then the slowest of loads, the warps side by side, and stores, then what the last tile still needs."""
    issue, first, last = loading_cycles(work, choice, machine), work.waves[0].load, work.waves[-1].store
    step = machine.barrier_cycles + _warps_cycles(work, choice, machine, ends=False)
    finish = _warps_cycles(work, choice, machine, ends=True)
    arrival = issue + first.cycles + work.latency_cycles
    steps = work.tiles * work.steps
    around = issue + work.latency_cycles + step
    trips = sum(w.tiles * (work.steps * (around + w.load.cycles) + w.stored_on_loads_cycles) for w in work.waves)
    stored = sum(wave.tiles * (wave.store.cycles + machine.barrier_cycles) for wave in work.waves)
    loaded = sum(wave.tiles * work.steps * wave.load.cycles for wave in work.waves)
    end = step + finish + last.cycles + machine.barrier_cycles
    stream = max(
        arrival + steps * step + work.tiles * finish + last.cycles + machine.barrier_cycles,
        arrival + trips * (steps - 1) // (steps * choice.slots) + end,
        issue + work.latency_cycles + fed_cycles(work, issue) + end,
        arrival + step + finish + stored,
        issue + loaded + stored if first.unit == last.unit else 0,
    )
    return machine.kernel_ramp_cycles + stream + machine.kernel_drain_cycles


def program(work: Work, choice: Choice, machine: Machine) -> Program:
    """A loading role, one role for every computing warp, each with its part of every tile, and a storing role."""
    warps = range(choice.warpgroups * WARPGROUP // WARP)
    stores: tuple[Op, ...] = ()
    for wave in work.waves:
        waits = tuple(Wait(f"{RESULTS}{warp}") for warp in warps)
        releases = tuple(Release(f"{RESULTS}{warp}") for warp in warps)
        stores += loop(wave.tiles, (*waits, *hand_over(machine), *needed(wave.store), *releases), "stores")
    computing = tuple(Role(f"warp{warp}", _script(work, warp, len(warps), machine)) for warp in warps)
    channels = (Channel(RING, choice.slots, len(warps)), *(Channel(f"{RESULTS}{w}", RESULT_SLOTS) for w in warps))
    loading = Role("load", ramp(machine) + all_loads(work, machine, choice))
    roles = (loading, *computing, Role("store", stores + drain(machine)))
    made = assemble(work.name, machine, channels, roles)
    return side_by_side(made, machine)


def _script(work: Work, warp: int, warps: int, machine: Machine) -> tuple[Op, ...]:
    step = (Wait(RING, warp), *hand_over(machine), *needed(*_uses(work, warp, warps, ends=False)), Release(RING, warp))
    end = (*needed(*_uses(work, warp, warps, ends=True)), Acquire(f"{RESULTS}{warp}"), Commit(f"{RESULTS}{warp}"))
    tile = loop(work.steps, step, "steps") + end
    return tuple(op for wave in work.waves for op in loop(wave.tiles, tile, "tiles"))


def _uses(work: Work, warp: int, warps: int, ends: bool) -> tuple[Use, ...]:
    """What a warp runs of all nodes: its points."""
    tasks: tuple[Task, ...] = tuple(task for task in work.tasks if task.ends == ends)
    return tuple(replace(use, label=task.name).between(warp, warp + 1, warps) for task in tasks for use in task.uses)


def _warps_cycles(work: Work, choice: Choice, machine: Machine, ends: bool) -> int:
    """What all warps take side by side: one after another as far as units have fewer lanes than there are warps."""
    warps = choice.warpgroups * WARPGROUP // WARP
    alone = sum(use.cycles for use in _uses(work, 0, warps, ends))
    units: dict[str, int] = {}
    for use in (use for task in work.tasks if task.ends == ends for use in task.uses):
        units[use.unit] = units.get(use.unit, 0) + -(-use.cycles // lanes_of(use.unit, machine))
    return max(alone, *units.values(), 0)
