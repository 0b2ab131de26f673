"""Pieces of scripts that schedules have in common, and the Program made of roles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gpu_model.machine import Machine
from gpu_model.price import issue_cycles
from gpu_model.work import Choice, Use, Wave, Work
from patterns.pipeline.program import Channel, Program, Role, Unit, UnitClass
from patterns.pipeline.script import Acquire, Loop, Op, Release, Run, Start, Wait, copy

RING = "ring"
# Units of an SM by name, in the order that Programs list them. `hbm` stands for both memory paths where the HBM is
# what limits them together.
UNIT_CLASS: Mapping[str, UnitClass] = {
    "tc": "matrix",
    "special": "special",
    "vector": "vector",
    "load": "memory",
    "store": "memory",
    "hbm": "memory",
    "link": "network",
    "issue": "issue",
    "ramp": "launch",
}


def ramp(machine: Machine) -> tuple[Op, ...]:
    """From the kernel's start on the device to its first instruction that loads."""
    return needed(Use("ramp", machine.kernel_ramp_cycles, "ramp"))


def drain(machine: Machine) -> tuple[Op, ...]:
    """From the last store's transfer to the kernel's end."""
    return needed(Use("ramp", machine.kernel_drain_cycles, "drain"))


def load_step(work: Work, wave: Wave, machine: Machine, choice: Choice) -> tuple[Op, ...]:
    """Wait for a free slot, pay the issue cost, start the load that fills it."""
    issue = Use("issue", issue_cycles(machine, choice.loader, work.slot_bytes), "issue")
    load = wave.load
    arriving = copy(load.unit, load.cycles, work.latency_cycles, RING, label=load.label, counts=load.counts)
    return (Acquire(RING), *needed(issue), arriving)


def compute_step(work: Work) -> tuple[Op, ...]:
    """Wait for a full slot, compute on it, give it back."""
    return (Wait(RING), *needed(*work.step), Release(RING))


def end_tile(work: Work, wave: Wave) -> tuple[Op, ...]:
    """Finish a tile and store it, by the role that computed it."""
    return needed(*work.finish, wave.store)


def fed_cycles(work: Work, issue: int) -> int:
    """All loads one after another, by what their transfers or their issue take."""
    return sum(wave.tiles * work.steps * max(wave.load.cycles, issue) for wave in work.waves)


def used_cycles(work: Work, issue: int, slots: int, stores: bool) -> int:
    """All tiles one after another, by what computing takes and by how soon slots come back.

    A slot comes back after issue, transfer, latency and computing; the end of a tile overlaps with the first three.
    stores: whether a tile's store is waited for too. A store on the loads' own unit holds them up.
    """
    scarce = work.tiles * work.steps > slots
    total = 0
    for wave in work.waves:
        end = work.end_cycles(wave) if stores else work.finish_cycles
        held_up = wave.store.cycles // work.steps if wave.store.unit == wave.load.unit else 0
        loading = issue + wave.load.cycles + work.latency_cycles + held_up
        computing = work.steps * work.step_cycles + end
        returning = -(-work.steps * (loading + work.step_cycles) // slots) + max(0, end - loading) if scarce else 0
        total += wave.tiles * max(computing, returning)
    return total


def needed(*uses: Use) -> tuple[Op, ...]:
    """Runs of the uses that take any time."""
    return tuple(use.run() for use in uses if use.cycles)


def loop(count: int, body: tuple[Op, ...], label: str = "") -> tuple[Op, ...]:
    """`body`, `count` times; no loop at all where there is nothing to repeat."""
    if count == 0 or not body:
        return ()
    return (Loop(count, body, label),)


def assemble(name: str, machine: Machine, channels: tuple[Channel, ...], roles: tuple[Role, ...]) -> Program:
    """A Program of these roles with the units that they use. An SM issues from each of its sub-partitions."""
    used = {unit for role in roles for unit in _units(role.script)}
    lanes = {"issue": machine.sub_partitions}
    listed = (Unit(unit, kind, lanes.get(unit, 1)) for unit, kind in UNIT_CLASS.items() if unit in used)
    return Program(name, tuple(listed), channels, roles)


def _units(script: Iterable[Op]) -> Iterator[str]:
    for op in script:
        if isinstance(op, Loop):
            yield from _units(op.body)
        elif isinstance(op, Run | Start):
            yield op.unit
