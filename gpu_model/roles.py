"""Pieces of scripts that schedules have in common, and the Program made of roles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpu_model.machine import Machine
from gpu_model.price import issue_cycles, staging_cycles
from gpu_model.work import Choice, Use, Wave, Work
from patterns.pipeline.program import Barrier, Channel, Program, Role, Unit, UnitClass
from patterns.pipeline.script import Acquire, Arrive, Await, Commit, Finish, Loop, Op, Release, Run, Start, Wait, copy

RING = "ring"
REGISTERS = "registers"
MMA = "mma"
# Units of an SM by name, in the order that Programs list them. `hbm` stands for both memory paths where the HBM is
# what limits them together.
UNIT_CLASS: Mapping[str, UnitClass] = {
    "tc": "matrix",
    "special": "special",
    "vector": "vector",
    "load": "memory",
    "store": "memory",
    "smem": "memory",
    "hbm": "memory",
    "peers": "memory",
    "link": "network",
    "issue": "issue",
    "sync": "sync",
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
    return (Acquire(RING), *hand_over(machine), *_load(work, wave, machine, choice, RING))


def all_loads(work: Work, machine: Machine, choice: Choice) -> tuple[Op, ...]:
    """The loads of all tiles, one after another; whose tile they are of is the readers' business."""
    script: tuple[Op, ...] = ()
    for wave in work.waves:
        script += loop(wave.tiles * work.steps, load_step(work, wave, machine, choice), "loads")
    return script


def fetch_step(work: Work, wave: Wave, machine: Machine, choice: Choice) -> tuple[Op, ...]:
    """Start a load into registers; nobody else reads them, so there is no barrier to wait for."""
    return (Acquire(REGISTERS), *_load(work, wave, machine, choice, REGISTERS))


def stage_step(work: Work, machine: Machine) -> tuple[Op, ...]:
    """Wait for what was loaded into registers, and write it to a free slot of shared memory."""
    staging = Use("smem", staging_cycles(machine, work.slot_bytes), "stage")
    return (Wait(REGISTERS), Acquire(RING), *needed(staging), Commit(RING), Release(REGISTERS))


def _load(work: Work, wave: Wave, machine: Machine, choice: Choice, into: str) -> tuple[Op, ...]:
    issue = Use("issue", issue_cycles(machine, choice.loader, work.slot_bytes), "issue")
    load = wave.load
    return (
        *needed(issue),
        copy(load.unit, load.cycles, work.latency_cycles, into, label=load.label, counts=load.counts),
    )


def compute_step(work: Work, machine: Machine, part: int = 0, parts: int = 1) -> tuple[Op, ...]:
    """Wait for a full slot, compute on it, give it back. Of `parts` consumers that share a tile, each is a reader."""
    uses = shared(work.step, work, part, parts)
    return (Wait(RING, part), *hand_over(machine), *computing(uses, machine), Release(RING, part))


def end_tile(work: Work, wave: Wave, part: int = 0, parts: int = 1) -> tuple[Op, ...]:
    """Finish a tile and store it, by the role that computed it; or its part, where `parts` consumers share the tile."""
    return needed(*shared((*work.finish, wave.store), work, part, parts))


def hand_over(machine: Machine) -> tuple[Op, ...]:
    """What a role pays to see a barrier change."""
    return needed(Use("sync", machine.barrier_cycles, "barrier"))


def meet(barrier: str, roles: int, machine: Machine) -> tuple[Op, ...]:
    """Go on once all `roles` are here."""
    return (Arrive(barrier), Await(barrier, roles), *hand_over(machine))


def take_turn(mine: str, body: tuple[Op, ...], next_one: str, machine: Machine) -> tuple[Op, ...]:
    """Run `body` once barrier `mine` says so, then pass the turn on."""
    return (Await(mine), *hand_over(machine), *body, Arrive(next_one))


def computing(uses: Iterable[Use], machine: Machine) -> tuple[Op, ...]:
    """The uses one after another. A matrix product is issued by its warpgroup, and its end is seen later."""
    ops: list[Op] = []
    for use in uses:
        if use.unit != "tc" or not use.cycles:
            ops += needed(use)
            continue
        ops += needed(Use("issue", machine.mma_issue_cycles, "issue mma"))
        if machine.mma_wait_cycles:
            ops += [
                Start(use.unit, use.cycles, machine.mma_wait_cycles, (), MMA, use.label, use.counts),
                Finish(MMA),
            ]
        else:
            ops += needed(use)
    return tuple(ops)


def shared(uses: Iterable[Use], work: Work, part: int, parts: int) -> tuple[Use, ...]:
    """What consumer `part` of `parts` does of a tile: its rows of matrix instructions, which stay whole."""
    if parts == 1:
        return tuple(uses)
    first, last = rows_of(work.row_blocks, part, parts)
    return tuple(use.between(first, last, work.row_blocks) for use in uses)


def rows_of(row_blocks: int, part: int, parts: int) -> tuple[int, int]:
    """Blocks of rows of a tile that one of its consumers has, from and up to: as even as blocks allow."""
    return part * row_blocks // parts, (part + 1) * row_blocks // parts


def loading_cycles(work: Work, choice: Choice, machine: Machine) -> int:
    """What the loading role pays for every slot: seeing that it is free, and the issue."""
    return machine.barrier_cycles + issue_cycles(machine, choice.loader, work.slot_bytes)


def computing_cycles(uses: Iterable[Use], machine: Machine) -> int:
    """What a computing role takes for one slot if nothing keeps it waiting."""
    around = machine.mma_issue_cycles + machine.mma_wait_cycles
    return machine.barrier_cycles + sum(use.cycles + (around if use.unit == "tc" else 0) for use in uses)


def fed_cycles(work: Work, issue: int) -> int:
    """All loads one after another, by what their transfers or their issue take (see loading_cycles)."""
    return sum(wave.tiles * work.steps * max(wave.load.cycles, issue) for wave in work.waves)


def used_cycles(work: Work, issue: int, step: int, slots: int, ends: Sequence[int]) -> int:
    """All tiles one after another, by what computing takes and by how soon slots come back.

    issue, step: of the loading and of the computing role, for each slot. ends: of every wave, cycles from a tile's
    last step to the next tile's first. A slot comes back after issue, transfer, latency and computing; the end of a
    tile overlaps with the first three. A store on the loads' own unit holds them up.
    """
    scarce = work.tiles * work.steps > slots
    total = 0
    for wave, end in zip(work.waves, ends, strict=True):
        held_up = wave.stored_on_loads_cycles // work.steps
        loading = issue + wave.load.cycles + work.latency_cycles + held_up
        returning = -(-work.steps * (loading + step) // slots) + max(0, end - loading) if scarce else 0
        total += wave.tiles * max(work.steps * step + end, returning)
    return total


def needed(*uses: Use) -> tuple[Op, ...]:
    """Runs of the uses that take any time."""
    return tuple(use.run() for use in uses if use.cycles)


def loop(count: int, body: tuple[Op, ...], label: str = "") -> tuple[Op, ...]:
    """`body`, `count` times; no loop at all where there is nothing to repeat."""
    if count == 0 or not body:
        return ()
    return (Loop(count, body, label),)


def assemble(
    name: str,
    machine: Machine,
    channels: tuple[Channel, ...],
    roles: tuple[Role, ...],
    barriers: tuple[Barrier, ...] = (),
) -> Program:
    """A Program of these roles with the units that they use. An SM issues from each of its sub-partitions.

    Seeing a barrier change takes time, and no unit: each role has its lane of `sync`. Units of several SMs are told
    apart by a number at the end of their names.
    """
    used = sorted({unit for role in roles for unit in _units(role.script)}, key=_place)
    lanes = {"issue": machine.sub_partitions, "sync": len(roles)}
    listed = (Unit(unit, UNIT_CLASS[_kind(unit)], lanes.get(_kind(unit), 1)) for unit in used)
    return Program(name, tuple(listed), channels, roles, barriers)


def _kind(unit: str) -> str:
    """A unit's name without the number of its SM, where a Program has several."""
    return unit.rstrip("0123456789")


def _place(unit: str) -> tuple[int, str]:
    return list(UNIT_CLASS).index(_kind(unit)), unit


def _units(script: Iterable[Op]) -> Iterator[str]:
    for op in script:
        if isinstance(op, Loop):
            yield from _units(op.body)
        elif isinstance(op, Run | Start):
            yield op.unit
