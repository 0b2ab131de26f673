"""DMA warps without a TMA: several warps only load, others only compute, and named barriers hand the buffers over.

As in CudaDMA (Bauer, Cook, Khailany, SC 2011), each of the DMA warps loads its part of a buffer and pays its part of
the issue. Loads that go through registers keep a warp until they are written to shared memory: then every buffer has
DMA warps of its own. One slot is single buffering, two are double buffering.
"""

from __future__ import annotations

from gpu_model.fit import REGISTER_BYTES, ring_bytes
from gpu_model.loader import is_staged
from gpu_model.machine import Machine
from gpu_model.occupancy.limits import WARP, WARPGROUP
from gpu_model.price import issue_cycles
from gpu_model.roles import (
    assemble,
    computing,
    computing_cycles,
    drain,
    fed_cycles,
    hand_over,
    loop,
    needed,
    ramp,
)
from gpu_model.schedule import Job
from gpu_model.work import Choice, CtaDemand, RoleDemand, Use, Wave, Work
from patterns.pipeline.program import Barrier, Channel, Program, Role
from patterns.pipeline.script import Acquire, Arrive, Await, Commit, Finish, Op, Release, Start, Wait, copy

LOADERS = ("cp_async", "registers")
SERVES: tuple[Job, ...] = ("mm", "stream")
NEEDS: tuple[str, ...] = ()
AUTO = False
WARPGROUPS = (1, 2)
# The usual number gives each sub-partition one.
DMA_WARPS = (4, 1, 2, 8)
BUFFER = "buffer"
LOADED = "loaded"
LAUNCHED = "launched"


def slot_counts(most: int) -> tuple[int, ...]:
    """Buffers to try, fewest first: single, double, and more where they fit."""
    return tuple(n for n in (1, 2, 4) if n <= most)


def demand(work: Work, choice: Choice, machine: Machine) -> CtaDemand:
    """All threads have as many registers: those that compute hold sums, those that load what is on its way.

    A transfer is started and finished at two named barriers for every buffer; __syncthreads has one more.
    """
    threads = choice.warpgroups * WARPGROUP
    beside = machine.registers_beside_accumulators
    loading = WARP * choice.dma_warps
    held = -(-work.slot_bytes // (loading * REGISTER_BYTES)) if is_staged(choice.loader) else 0
    needs = (
        RoleDemand("DMA warps", loading * _sets(choice), held + beside),
        RoleDemand("computing warps", threads, -(-work.accumulators // threads) + beside),
    )
    smem_bytes = ring_bytes(work, choice, machine)
    return CtaDemand(tuple(sorted(needs, key=lambda role: role.registers)), smem_bytes, barriers=1 + 2 * choice.slots)


def predict(work: Work, choice: Choice, machine: Machine) -> int:
    """The slowest of the loads, the computing warps and the way of a buffer, all DMA warps issuing side by side."""
    # A sub-partition issues for its DMA warps one after another.
    rounds = -(-choice.dma_warps // machine.sub_partitions)
    issue = machine.barrier_cycles + rounds * _issue_cycles(work, choice, machine)
    written = issue + _write_cycles(work, choice, machine)
    step = computing_cycles(work.step, machine) + _held_up_cycles(work, choice, machine)
    arrival = written + work.waves[0].load.cycles + work.latency_cycles
    last = step + work.end_cycles(work.waves[-1])
    steps = work.tiles * work.steps
    computed = trips = 0
    for wave in work.waves:
        # The end of a tile overlaps with the next loads as far as there are free buffers.
        loading = written + wave.load.cycles + work.latency_cycles
        trips += wave.tiles * (work.steps * (loading + step) + choice.slots * max(0, work.end_cycles(wave) - loading))
        computed += wave.tiles * (work.steps * step + work.end_cycles(wave))
    returned = trips * (steps - 1) // (steps * choice.slots) + last
    busy = max(arrival + computed, arrival + returned, written + work.latency_cycles + fed_cycles(work, issue) + last)
    return machine.kernel_ramp_cycles + busy + machine.kernel_drain_cycles


def program(work: Work, choice: Choice, machine: Machine) -> Program:
    """Roles: each DMA warp of each set, and the computing warps, which wait for all parts of a buffer."""
    parts = range(choice.dma_warps)
    roles = [
        Role(f"dma{number * choice.dma_warps + part}", _dma(work, choice, machine, part, number))
        for number in range(_sets(choice))
        for part in parts
    ]
    step = (
        *(Wait(_buffer(part, choice)) for part in parts),
        *hand_over(machine),
        *computing(work.step, machine),
        *(Release(_buffer(part, choice)) for part in parts),
    )
    computes: tuple[Op, ...] = ()
    for wave in work.waves:
        end = needed(*work.finish, wave.store)
        computes += loop(wave.tiles, loop(work.steps, step, "steps") + end, "tiles")
    channels = tuple(Channel(_buffer(part, choice), choice.slots) for part in parts)
    compute = Role("compute", computes + drain(machine))
    return assemble(work.name, machine, channels, (*roles, compute), (Barrier(LAUNCHED),))


def _dma(work: Work, choice: Choice, machine: Machine, part: int, number: int) -> tuple[Op, ...]:
    """The script of one DMA warp: its part of every buffer, or of every second one where two sets take turns."""
    first = part == number == 0
    script: tuple[Op, ...] = (*ramp(machine), Arrive(LAUNCHED)) if first else (Await(LAUNCHED),)
    before = 0
    for wave in work.waves:
        after = before + wave.tiles * work.steps
        mine = _turns(after, number, _sets(choice)) - _turns(before, number, _sets(choice))
        script += loop(mine, _transfer(work, wave, choice, machine, part), "transfers")
        before = after
    return script


def _turns(steps: int, number: int, sets: int) -> int:
    """How many of the first `steps` transfers set `number` makes."""
    return -(-(steps - number) // sets) if steps > number else 0


def _transfer(work: Work, wave: Wave, choice: Choice, machine: Machine, part: int) -> tuple[Op, ...]:
    """Wait until the transfer is started, load, and say when it is finished."""
    buffer = _buffer(part, choice)
    load = wave.load.between(part, part + 1, choice.dma_warps)
    issue = Use("issue", _issue_cycles(work, choice, machine), "issue")
    head = (Acquire(buffer), *hand_over(machine), *needed(issue))
    if not is_staged(choice.loader):
        return (*head, copy(load.unit, load.cycles, work.latency_cycles, buffer, label=load.label, counts=load.counts))
    write = Use("smem", _write_cycles(work, choice, machine), "write")
    into_registers = Start(load.unit, load.cycles, work.latency_cycles, (), LOADED, load.label, load.counts)
    return (*head, into_registers, Finish(LOADED), *needed(write), Commit(buffer))


def _buffer(part: int, choice: Choice) -> str:
    """The channel of one DMA warp's part of the buffers."""
    return f"{BUFFER}.part{part}" if choice.dma_warps > 1 else BUFFER


def _sets(choice: Choice) -> int:
    """Sets of DMA warps: one for each buffer where a load keeps its warp."""
    return choice.slots if is_staged(choice.loader) else 1


def _issue_cycles(work: Work, choice: Choice, machine: Machine) -> int:
    """What each DMA warp pays for its part of a buffer, rounded up."""
    return -(-issue_cycles(machine, choice.loader, work.slot_bytes) // choice.dma_warps)


def _held_up_cycles(work: Work, choice: Choice, machine: Machine) -> int:
    """What computing warps wait for their turn to issue where every sub-partition has a DMA warp, which goes first."""
    if choice.dma_warps < machine.sub_partitions or not machine.mma_issue_cycles:
        return 0
    return max(0, _issue_cycles(work, choice, machine) - machine.barrier_cycles)


def _write_cycles(work: Work, choice: Choice, machine: Machine) -> int:
    """What writing one warp's part from registers to shared memory takes, rounded up."""
    if not is_staged(choice.loader):
        return 0
    return -(-work.slot_bytes // (choice.dma_warps * machine.smem_write_bytes_per_cycle))
