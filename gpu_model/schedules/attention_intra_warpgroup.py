"""Attention without a producer: warpgroups load for themselves, and compute scores of the next block under a softmax.

All warpgroups meet when the keys of a block are used up, and when its values are; then the first issues the load that
takes their place (FlashAttention-3 without warp specialisation, arXiv 2407.08608, table 2).
"""

from __future__ import annotations

from functools import lru_cache

from gpu_model.attention.pace import Pace, least_by_turns, predicted
from gpu_model.attention.scripts import (
    KEYS,
    QUERIES,
    SCORES,
    SUMS,
    TOGETHER,
    VALUES,
    Block,
    begin_tile,
    blocks_of,
    end,
    give,
    half_issue,
    load_into,
    load_queries,
    meet,
    multiply,
    program_of,
    reach_of,
    start,
    take,
    transpose_alike,
    two_or_more,
    uniform_of,
)
from gpu_model.machine import Machine
from gpu_model.price import transpose_cycles
from gpu_model.roles import loop, needed
from gpu_model.schedule import Job
from gpu_model.work import Choice, CtaDemand, Wave, Work
from patterns.pipeline.program import Program
from patterns.pipeline.script import Finish, Op

LOADERS = ("tma",)
SERVES: tuple[Job, ...] = ("online",)
NEEDS: tuple[str, ...] = ("tma",)
AUTO = True
WARPGROUPS = (1, 2, 3)
slot_counts = two_or_more
at_least = least_by_turns


def demand(work: Work, choice: Choice, machine: Machine) -> CtaDemand:
    """Warpgroups that all load and compute; they hold probabilities beside the next block's scores."""
    return uniform_of(work, choice, machine, operands=True)


def predict(work: Work, choice: Choice, machine: Machine) -> int:
    """In step: the softmaxes of all warpgroups beside scores, then the sums of all, and what meeting takes."""
    blocks = blocks_of(work, choice, machine, overlaps=True)
    around = 2 * (machine.barrier_cycles + half_issue(work, choice, machine)) + machine.mma_latency_cycles
    around += 2 * machine.turn_cycles if choice.warpgroups > 1 else 0
    chain = _in_step_cycles(blocks) + transpose_cycles(machine, work.transposed_bytes)
    return predicted(work, choice, machine, blocks, Pace(chain + around, blocks[0].scores.cycles, ahead=False))


@lru_cache(maxsize=1024)
def _in_step_cycles(blocks: tuple[Block, ...]) -> int:
    """The softmaxes of all warpgroups, unit after unit, then the longest of their sums: few blocks are different."""
    softmax = max(sum(block.softmax[at].cycles for block in blocks) for at in range(len(blocks[0].softmax)))
    softmax = max(softmax, max(block.softmax_cycles for block in blocks))
    return softmax + max(block.values.cycles for block in blocks)


def matrix_reach(work: Work, choice: Choice, machine: Machine) -> float:
    """What instructions beside products leave of the tensor core's rate."""
    return float(reach_of(work, blocks_of(work, choice, machine, overlaps=True)))


def program(work: Work, choice: Choice, machine: Machine) -> Program:
    """One role for each warpgroup; the first loads."""
    blocks = blocks_of(work, choice, machine, overlaps=True)
    scripts = [_script(work, choice, machine, block, part) for part, block in enumerate(blocks)]
    return program_of(work, choice, machine, scripts, [TOGETHER] if len(blocks) > 1 else [], loads=False)


def _script(work: Work, choice: Choice, machine: Machine, block: Block, part: int) -> tuple[Op, ...]:
    script: tuple[Op, ...] = ()
    for wave in work.waves:
        tile = _tile(work, wave, choice, machine, block, part) + end(work, wave, block)
        script += loop(wave.tiles, tile, "tiles")
    return script


def _tile(work: Work, wave: Wave, choice: Choice, machine: Machine, block: Block, part: int) -> tuple[Op, ...]:
    """Rings are full when the steps begin; each step fills what it has used up, as long as there is more to come."""
    steps, parts = work.steps_of(wave), choice.warpgroups
    keys, values = (load_into(ring, work, wave, machine, choice) if part == 0 else () for ring in (KEYS, VALUES))
    queries = load_queries(work, wave, machine, choice) if part == 0 else ()
    scores = (*take(KEYS, part, work, machine), *start(block.scores, SCORES, machine))
    ready = (Finish(SCORES), *give(KEYS, part, work), *meet(parts, machine))
    use = (
        *needed(*block.softmax),
        *take(VALUES, part, work, machine),
        *transpose_alike(work, parts, machine),
        *multiply(block.values, SUMS, machine),
        *give(VALUES, part, work),
        *meet(parts, machine),
    )
    ahead = min(choice.slots, steps)
    more = min(steps - ahead, steps - 1)
    begin = queries + loop(ahead, keys + values, "prologue") + begin_tile(part, work, machine) + scores
    loading = loop(more, ready + keys + scores + use + values, "steps")
    rest = loop(steps - 1 - more, ready + scores + use, "last steps")
    return begin + loading + rest + ready + give(QUERIES, part, work) + use
