"""FlashAttention-2: warps that load and compute, products by mma.sync, every warp's softmax between them.

Keys of the next block are loaded under softmax and sums, values under the scores, by the computing warps (arXiv
2307.08691). Warps of a CTA, and CTAs of an SM, share its units as they come.
"""

from __future__ import annotations

from dataclasses import replace

from gpu_model.attention.pace import Pace, least_by_turns, predicted
from gpu_model.attention.scripts import (
    KEYS,
    QUERIES,
    VALUES,
    Block,
    blocks_of,
    end,
    give,
    half_issue,
    load_into,
    load_queries,
    program_of,
    reach_of,
    take,
    transpose_alike,
    uniform_of,
)
from gpu_model.fit import most_slots
from gpu_model.machine import Machine
from gpu_model.price import transpose_cycles
from gpu_model.roles import loop, needed
from gpu_model.schedule import Job
from gpu_model.work import Choice, CtaDemand, Use, Wave, Work
from patterns.pipeline.program import Program
from patterns.pipeline.script import Op
from patterns.units import exact

LOADERS = ("cp_async", "registers")
SERVES: tuple[Job, ...] = ("online",)
NEEDS: tuple[str, ...] = ("mma_sync",)
AUTO = True
WARPGROUPS = (1, 2, 4)
LONGEST_FIRST = False
# Blocks of keys and of values that are loaded ahead.
MOST_SLOTS = 2


def slot_counts(most: int) -> tuple[int, ...]:
    """One block of keys and one of values at a time, or two."""
    return tuple(n for n in range(1, MOST_SLOTS + 1) if n <= most)


def demand(work: Work, choice: Choice, machine: Machine) -> CtaDemand:
    """Warps that all load and compute."""
    return uniform_of(work, choice, machine)


def predict(work: Work, choice: Choice, machine: Machine) -> int:
    """A warpgroup's chain, with its share of issuing the loads; or the units that all share."""
    blocks = _blocks(work, choice, machine)
    load = max(wave.load.cycles for wave in work.waves)
    arriving = load // 2 + work.latency_cycles if load else 0
    # Values arrive beside the scores, the next keys beside the rest.
    scores = max(arriving, *(block.scores.cycles for block in blocks))
    rest = max(arriving, *(block.softmax_cycles + block.values.cycles for block in blocks))
    around = 2 * (machine.barrier_cycles + _issue(work, choice, machine))
    around += transpose_cycles(machine, work.transposed_bytes)
    return predicted(work, choice, machine, blocks, Pace(scores + rest + around, 0, ahead=False, starts=False))


def at_least(work: Work, machine: Machine) -> int:
    """Every step waits twice for what arrives meanwhile, and for a slot where there is but one."""
    load = max(wave.load.cycles for wave in work.waves)
    arriving = load // 2 + work.latency_cycles if load else 0
    step = 2 * (arriving + machine.barrier_cycles)
    slots = max(1, min(MOST_SLOTS, most_slots(work, machine)))
    total = machine.kernel_ramp_cycles + machine.kernel_drain_cycles + machine.tile_start_cycles
    for wave in work.waves:
        steps, own = work.steps_of(wave), wave.load.cycles
        returns = (own + work.latency_cycles + step) // slots if own and steps > slots else 0
        queries = wave.held.cycles + work.latency_cycles if wave.held else 0
        total += wave.tiles * (steps * max(step, returns) + work.end_cycles(wave) + queries + own // 2)
    return max(total, least_by_turns(work, machine))


def matrix_reach(work: Work, choice: Choice, machine: Machine) -> float:
    """What mma.sync and instructions beside products leave of the tensor core's rate."""
    return float(reach_of(work, _blocks(work, choice, machine)))


def program(work: Work, choice: Choice, machine: Machine) -> Program:
    """One role for each warpgroup; the first fills the rings, and all pay for it."""
    scripts = [_script(work, choice, machine, block, part) for part, block in enumerate(_blocks(work, choice, machine))]
    return program_of(work, choice, machine, scripts, loads=False)


def _blocks(work: Work, choice: Choice, machine: Machine) -> tuple[Block, ...]:
    """Products at the rate of mma.sync."""
    share = exact(machine.mma_sync_efficiency)
    blocks = blocks_of(work, choice, machine, overlaps=choice.warpgroups > 1)
    return tuple(
        replace(block, scores=block.scores.at_share(share), values=block.values.at_share(share)) for block in blocks
    )


def _issue(work: Work, choice: Choice, machine: Machine) -> int:
    """What each warpgroup pays for loading keys or values: its share of the instructions."""
    return half_issue(work, choice, machine) // choice.warpgroups


def _script(work: Work, choice: Choice, machine: Machine, block: Block, part: int) -> tuple[Op, ...]:
    script = needed(Use("issue", machine.tile_start_cycles, "tile start"))
    for wave in work.waves:
        tile = _tile(work, wave, choice, machine, block, part) + end(work, wave, block)
        script += loop(wave.tiles, tile, "tiles")
    return script


def _tile(work: Work, wave: Wave, choice: Choice, machine: Machine, block: Block, part: int) -> tuple[Op, ...]:
    keys, values = (_load(ring, work, wave, choice, machine, part) for ring in (KEYS, VALUES))
    scores = (*take(KEYS, part, work, machine), *values, *needed(block.scores), *give(KEYS, part, work))
    turned = transpose_alike(work, choice.warpgroups, machine)
    sums = (*needed(*block.softmax), *turned, *needed(block.values), *give(VALUES, part, work))
    step = (*scores, *take(VALUES, part, work, machine), *keys, *sums)
    last = (*scores, *take(VALUES, part, work, machine), *sums)
    queries = load_queries(work, wave, machine, choice) if part == 0 else ()
    begin = queries + keys + take(QUERIES, part, work, machine)
    return begin + loop(work.steps_of(wave) - 1, step, "steps") + last + give(QUERIES, part, work)


def _load(ring: str, work: Work, wave: Wave, choice: Choice, machine: Machine, part: int) -> tuple[Op, ...]:
    """A warpgroup's share of the issue; the transfer itself is the first one's."""
    ops = load_into(ring, work, wave, machine, choice)
    if not ops:
        return ()
    issue = needed(Use("issue", _issue(work, choice, machine), "issue"))
    return (ops[0], *issue, ops[-1]) if part == 0 else issue
