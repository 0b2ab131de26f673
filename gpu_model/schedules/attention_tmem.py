"""Attention on Blackwell: one thread issues all products, two warpgroups do the softmax, one rescales and ends tiles.

Scores, probabilities and sums of both halves of a tile are in tensor memory, so no warp holds accumulators. Sums are
rescaled only where a maximum rose by much, beside the softmax, and a part of the exponentials is computed as a
polynomial by the vector units, as much as evens them out with the special ones (FlashAttention-4).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import ceil

from gpu_model.attention.pace import busiest_cycles, least_predicted
from gpu_model.attention.scripts import (
    KEYS,
    QUERIES,
    VALUES,
    Block,
    block_of,
    half_issue,
    hidden,
    producer,
    rings,
    take,
    two_or_more,
)
from gpu_model.machine import Machine
from gpu_model.occupancy.limits import WARPGROUP
from gpu_model.occupancy.tmem import LANES, epilogue_registers, issued
from gpu_model.roles import assemble, drain, hand_over, loop, needed, ramp
from gpu_model.schedule import Job
from gpu_model.work import Choice, CtaDemand, RoleDemand, Use, Work
from patterns.pipeline.program import Channel, Program, Role
from patterns.pipeline.script import Acquire, Commit, Effect, Fill, Free, Op, Release, Wait

LOADERS = ("tma",)
SERVES: tuple[Job, ...] = ("online",)
NEEDS: tuple[str, ...] = ("tcgen05", "tmem", "tma", "setmaxnreg")
AUTO = True
WARPGROUPS = (2,)
SCORES, PROBABILITIES, RISE, RESCALED, SUMS = "scores", "probabilities", "rise", "rescaled", "sums"
# FlashAttention-4: about a tenth of the rescalings are left where a maximum must rise by a factor of 256 to matter.
RESCALED_SHARE = Fraction(1, 10)
# Counted, not measured: a polynomial of degree 3, rounding by a large number and taking it off again, and putting the
# exponent in place.
POLYNOMIAL_OPS = 8
# Registers of the loading and issuing warps, and beside a row's scores in a softmax thread (FlashAttention-4: 48, 192).
FEW_REGISTERS = 48
slot_counts = two_or_more
at_least = least_predicted


def demand(work: Work, choice: Choice, machine: Machine) -> CtaDemand:
    """Softmax threads have a row of scores each; sums and scores are in tensor memory."""
    rows = LANES * choice.warpgroups
    scores = -(-work.accumulators // (2 * rows))
    roles = (
        RoleDemand("loading and issuing warps", WARPGROUP, FEW_REGISTERS),
        RoleDemand("correction", WARPGROUP, epilogue_registers(machine)),
        RoleDemand("softmax", WARPGROUP * choice.warpgroups, machine.registers_beside_accumulators + scores),
    )
    smem_bytes = choice.slots * (work.slot_bytes + 2 * machine.barrier_bytes) + work.held_bytes
    columns = -(-work.accumulators // LANES)
    return CtaDemand(roles, smem_bytes, setmaxnreg=True, tmem_columns=columns)


def predict(work: Work, choice: Choice, machine: Machine) -> int:
    """The units that both halves share, or one half's way through scores, softmax and sums; tiles follow each other."""
    blocks = _blocks(work, choice, machine)
    issue = half_issue(work, choice, machine) + machine.barrier_cycles
    # Sums and the scores after them are issued together: only the scores' commit is waited for.
    seen = 2 * machine.barrier_cycles + machine.mma_wait_cycles + _rescale_cycles(work, choice)
    chain = max(block.chain_cycles for block in blocks) + seen
    busiest = busiest_cycles(blocks)
    total = machine.kernel_ramp_cycles + machine.kernel_drain_cycles
    for wave in work.waves:
        steps, load = work.steps_of(wave), wave.load.cycles
        returns = (issue + load + work.latency_cycles + chain) // choice.slots if load and steps > choice.slots else 0
        period = max(chain, load, busiest, returns)
        loads = steps * load + (wave.held.cycles if wave.held else 0)
        ends = work.end_cycles(wave) + 2 * machine.barrier_cycles
        # The next tile's queries come while the last softmax and sums run.
        late = work.latency_cycles + wave.held.cycles - chain + blocks[0].scores.cycles if wave.held else 0
        # The second half begins behind the first one's scores.
        tile = machine.tile_start_cycles + blocks[0].scores.cycles + steps * period
        tile += max(0, late - machine.tile_start_cycles)
        total += wave.tiles * max(tile, loads + wave.stored_on_loads_cycles, ends + chain // 2)
    first, last = work.waves[0], work.waves[-1]
    if first.load.cycles:
        total += issue + work.latency_cycles + first.load.cycles // 2 + (first.held.cycles if first.held else 0)
    return total + work.end_cycles(last)


def program(work: Work, choice: Choice, machine: Machine) -> Program:
    """A loading warp, an issuing thread, a softmax warpgroup for each half of a tile, and the correcting one."""
    blocks = _blocks(work, choice, machine)
    halves = range(len(blocks))
    loads = producer(work, choice, machine)
    begin = () if loads else ramp(machine)
    roles = (
        *loads,
        Role("mma", begin + _products(work, machine, blocks)),
        *(Role(f"softmax{half}", _softmax(work, machine, blocks[half], half)) for half in halves),
        Role("correction", _correction(work, choice, machine) + drain(machine)),
    )
    inside = (SCORES, PROBABILITIES, RISE, RESCALED, SUMS)
    channels = (*rings(work, choice, 1), *(Channel(f"{name}{half}", 1) for half in halves for name in inside))
    return assemble(work.name, machine, channels, roles)


def _blocks(work: Work, choice: Choice, machine: Machine) -> tuple[Block, ...]:
    """The step of each half, exponentials evened out between special and vector units; rescaling is another's."""
    return _evened_blocks(work.step, work.row_blocks, choice.warpgroups, _sums_cycles(work, choice), machine)


@lru_cache(maxsize=1024)
def _evened_blocks(
    step: tuple[Use, ...], row_blocks: int, parts: int, rescaling: int, machine: Machine
) -> tuple[Block, ...]:
    """Memo of `_blocks`: all numbers of slots and steps have few different ones."""
    blocks = (block_of(step, row_blocks, half, parts) for half in range(parts))
    return tuple(replace(block, softmax=_evened(block.softmax, rescaling, machine)) for block in blocks)


def _evened(softmax: tuple[Use, ...], rescaling: int, machine: Machine) -> tuple[Use, ...]:
    special = sum(use.cycles for use in softmax if use.unit == "special")
    vector = max(0, sum(use.cycles for use in softmax if use.unit == "vector") - rescaling)
    dearer = Fraction(machine.special_ops_per_cycle * POLYNOMIAL_OPS, machine.vector_ops_per_cycle)
    share = max(Fraction(0), (special - vector) / (special * (1 + dearer))) if special else Fraction(0)
    cycles = {"special": ceil(special * (1 - share)), "vector": ceil(vector + special * share * dearer)}
    return tuple(replace(use, cycles=cycles.get(use.unit, use.cycles)) for use in softmax)


def _sums_cycles(work: Work, choice: Choice) -> int:
    """A vector op on every sum of one half: the end of a tile has two, a division and a conversion."""
    return sum(use.cycles for use in work.finish if use.unit == "vector") // (2 * choice.warpgroups)


def _rescale_cycles(work: Work, choice: Choice) -> int:
    """What rescaling one half's sums takes in a step, on average, rounded up."""
    return ceil(_sums_cycles(work, choice) * RESCALED_SHARE)


def _products(work: Work, machine: Machine, blocks: tuple[Block, ...]) -> tuple[Op, ...]:
    """The issuing thread: scores of both halves, then in every step the sums of each and the scores of the next."""
    halves = range(len(blocks))
    keys, values = take(KEYS, 0, work, machine), take(VALUES, 0, work, machine)

    def scores(last: bool) -> tuple[Op, ...]:
        return tuple(op for half in halves for op in _scores(work, machine, blocks, half, last))

    def step(new: bool, last: bool) -> tuple[Op, ...]:
        both = (
            (*_sums(work, machine, blocks, h, new, False), *_scores(work, machine, blocks, h, last)) for h in halves
        )
        return (*values, *keys, *(op for ops in both for op in ops))

    script: tuple[Op, ...] = ()
    for wave in work.waves:
        found = needed(Use("issue", machine.tile_start_cycles, "tile start"))
        queries = (*found, *(take(QUERIES, 0, work, machine) if wave.held is not None else ()))
        more = work.steps_of(wave) - 1
        middle = loop(max(0, more - 2), step(new=False, last=False), "steps")
        steps = loop(min(more, 1), step(True, more == 1)) + middle + loop(int(more > 1), step(False, True))
        ends = tuple(op for half in halves for op in _sums(work, machine, blocks, half, not more, True))
        script += loop(wave.tiles, (*queries, *keys, *scores(not more), *steps, *values, *ends), "tiles")
    return script


def _scores(work: Work, machine: Machine, blocks: tuple[Block, ...], half: int, last: bool) -> tuple[Op, ...]:
    """Scores of one half into tensor memory; after those of the last half the keys are used up, and once queries."""
    used = (*_used(KEYS, work, half, blocks), *(_used(QUERIES, work, half, blocks) if last else ()))
    return (Acquire(f"{SCORES}{half}"), *issued((blocks[half].scores,), machine, (Fill(f"{SCORES}{half}"), *used)))


def _sums(work: Work, machine: Machine, blocks: tuple[Block, ...], half: int, new: bool, last: bool) -> tuple[Op, ...]:
    """Probabilities times values, added to rescaled sums, or new ones; after the last step the sums are complete."""
    needs = (f"{PROBABILITIES}{half}",) if new else (f"{PROBABILITIES}{half}", f"{RESCALED}{half}")
    complete: tuple[Effect, ...] = (Fill(f"{SUMS}{half}"),) if last else ()
    then = (*(Free(name) for name in needs), *_used(VALUES, work, half, blocks), *complete)
    room = (Acquire(f"{SUMS}{half}"),) if new else ()
    waits = (*room, *(Wait(name) for name in needs), *hand_over(machine))
    return (*waits, *issued((blocks[half].values,), machine, then))


def _used(ring: str, work: Work, half: int, blocks: tuple[Block, ...]) -> tuple[Effect, ...]:
    held = ring != QUERIES or all(wave.held is not None for wave in work.waves)
    return (Free(ring),) if half == len(blocks) - 1 and held and not hidden(work) else ()


def _softmax(work: Work, machine: Machine, block: Block, half: int) -> tuple[Op, ...]:
    """Read scores, write probabilities in their place, and, but for a tile's first step, say how far maxima rose."""

    def step(new: bool) -> tuple[Op, ...]:
        made = (f"{PROBABILITIES}{half}",) if new else (f"{RISE}{half}", f"{PROBABILITIES}{half}")
        return (
            Wait(f"{SCORES}{half}"),
            *hand_over(machine),
            *(Acquire(name) for name in made),
            *needed(*block.softmax),
            Release(f"{SCORES}{half}"),
            *(Commit(name) for name in made),
        )

    script: tuple[Op, ...] = ()
    for wave in work.waves:
        steps = step(new=True) + loop(work.steps_of(wave) - 1, step(new=False), "steps")
        script += loop(wave.tiles, steps, "tiles")
    return script


def _correction(work: Work, choice: Choice, machine: Machine) -> tuple[Op, ...]:
    """Rescale the sums of each half in every step but the first; at the end of a tile read them, divide and store."""
    rescale = Use("vector", _rescale_cycles(work, choice), "rescale")
    halves = range(choice.warpgroups)
    step = tuple(
        op
        for half in halves
        for op in (
            Wait(f"{RISE}{half}"),
            *hand_over(machine),
            Acquire(f"{RESCALED}{half}"),
            *needed(rescale),
            Commit(f"{RESCALED}{half}"),
            Release(f"{RISE}{half}"),
        )
    )
    script: tuple[Op, ...] = ()
    for wave in work.waves:
        ends: tuple[Op, ...] = ()
        for half in halves:
            finish = needed(*(use.between(half, half + 1, choice.warpgroups) for use in work.finish))
            store = needed(wave.store.between(half, half + 1, choice.warpgroups))
            ends += (Wait(f"{SUMS}{half}"), *hand_over(machine), *finish, Release(f"{SUMS}{half}"), *store)
        script += loop(wave.tiles, loop(work.steps_of(wave) - 1, step, "steps") + ends, "tiles")
    return script
