"""Attention with a producer: two or three warpgroups, each computing scores of the next block under a softmax.

The scores of the next block are issued before the softmax of this one, within every warpgroup; warpgroups do not wait
for each other (FlashAttention-3, arXiv 2407.08608, sections 3.2 and 3.3).
"""

from __future__ import annotations

from gpu_model.attention.pace import Pace, least_predicted, predicted
from gpu_model.attention.scripts import (
    KEYS,
    QUERIES,
    SCORES,
    SUMS,
    VALUES,
    Block,
    begin_tile,
    blocks_of,
    demand_of,
    end,
    give,
    make_room,
    multiply,
    program_of,
    reach_of,
    start,
    take,
    two_or_more,
)
from gpu_model.machine import Machine
from gpu_model.roles import loop, needed
from gpu_model.schedule import Job
from gpu_model.work import Choice, CtaDemand, Work
from patterns.pipeline.program import Program
from patterns.pipeline.script import Finish, Op

LOADERS = ("tma",)
SERVES: tuple[Job, ...] = ("online",)
NEEDS: tuple[str, ...] = ("tma",)
AUTO = True
WARPGROUPS = (2, 3)
slot_counts = two_or_more
at_least = least_predicted


def demand(work: Work, choice: Choice, machine: Machine) -> CtaDemand:
    """A producer and the computing warpgroups, which hold probabilities beside the next block's scores."""
    return demand_of(work, choice, machine, operands=True)


def predict(work: Work, choice: Choice, machine: Machine) -> int:
    """The units that all warpgroups share, or one warpgroup's softmax and sums."""
    blocks = blocks_of(work, choice, machine, overlaps=True)
    around = 2 * machine.barrier_cycles + machine.mma_latency_cycles
    chain = max(block.softmax_cycles + block.values.cycles for block in blocks)
    return predicted(work, choice, machine, blocks, Pace(chain + around, blocks[0].softmax_cycles // 2))


def matrix_reach(work: Work, choice: Choice, machine: Machine) -> float:
    """What instructions beside products leave of the tensor core's rate."""
    return float(reach_of(work, blocks_of(work, choice, machine, overlaps=True)))


def program(work: Work, choice: Choice, machine: Machine) -> Program:
    """One role that loads, and one for each warpgroup."""
    blocks = blocks_of(work, choice, machine, overlaps=True)
    scripts = [_script(work, machine, block, part) for part, block in enumerate(blocks)]
    return program_of(work, choice, machine, scripts)


def _script(work: Work, machine: Machine, block: Block, part: int) -> tuple[Op, ...]:
    scores = (*take(KEYS, part, work, machine), *start(block.scores, SCORES, machine))
    ready = (Finish(SCORES), *give(KEYS, part, work))
    use = (
        *needed(*block.softmax),
        *take(VALUES, part, work, machine),
        *multiply(block.values, SUMS, machine),
        *give(VALUES, part, work),
    )
    begin = begin_tile(part, work, machine) + make_room(work)
    script: tuple[Op, ...] = ()
    for wave in work.waves:
        steps = loop(work.steps_of(wave) - 1, ready + scores + use, "steps")
        last = ready + give(QUERIES, part, work) + use
        script += loop(wave.tiles, begin + scores + steps + last + end(work, wave, block), "tiles")
    return script
