"""Attention with a producer: warpgroups take turns at the tensor core, and softmaxes run outside the turn.

A turn is the sums of one block and the scores of the next; the first turn of a tile has scores only, the last sums
only (FlashAttention-3, arXiv 2407.08608, section 3.2).
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
    pass_on,
    program_of,
    reach_of,
    start,
    take,
    tensor_cycles,
    turn,
    two_or_more,
)
from gpu_model.machine import Machine
from gpu_model.roles import loop, needed
from gpu_model.schedule import Job
from gpu_model.work import Choice, CtaDemand, Work
from patterns.pipeline.program import Program
from patterns.pipeline.script import Arrive, Await, Finish, Op

LOADERS = ("tma",)
SERVES: tuple[Job, ...] = ("online",)
NEEDS: tuple[str, ...] = ("tma",)
AUTO = True
WARPGROUPS = (2, 3)
slot_counts = two_or_more
at_least = least_predicted


def demand(work: Work, choice: Choice, machine: Machine) -> CtaDemand:
    """A producer and the computing warpgroups; probabilities take the place of their scores."""
    return demand_of(work, choice, machine)


def predict(work: Work, choice: Choice, machine: Machine) -> int:
    """The turns of all warpgroups, or one turn and the softmax after it."""
    blocks = blocks_of(work, choice, machine, overlaps=True)
    around = machine.turn_cycles + machine.mma_latency_cycles
    turns = tensor_cycles(blocks) + len(blocks) * around
    alone = max(block.chain_cycles for block in blocks) + around + machine.barrier_cycles
    return predicted(work, choice, machine, blocks, Pace(max(turns, alone), blocks[0].scores.cycles))


def matrix_reach(work: Work, choice: Choice, machine: Machine) -> float:
    """What instructions beside products leave of the tensor core's rate."""
    return float(reach_of(work, blocks_of(work, choice, machine, overlaps=True)))


def program(work: Work, choice: Choice, machine: Machine) -> Program:
    """One role that loads, and one for each warpgroup; the first begins."""
    blocks = blocks_of(work, choice, machine, overlaps=True)
    scripts = [_script(work, machine, block, part, len(blocks)) for part, block in enumerate(blocks)]
    return program_of(work, choice, machine, scripts, [turn(part) for part in range(len(blocks))])


def _script(work: Work, machine: Machine, block: Block, part: int, parts: int) -> tuple[Op, ...]:
    enter, leave = (Await(turn(part)), *pass_on(machine)), (Arrive(turn((part + 1) % parts)),)
    keys, values = take(KEYS, part, work, machine), take(VALUES, part, work, machine)
    scores, sums = start(block.scores, SCORES, machine), start(block.values, SUMS, machine)
    scored, summed = (Finish(SCORES), *give(KEYS, part, work)), (Finish(SUMS), *give(VALUES, part, work))
    softmax = needed(*block.softmax)
    first = (*begin_tile(part, work, machine), *make_room(work), *keys, *enter, *scores, *scored, *leave, *softmax)
    step = (*values, *keys, *enter, *sums, *scores, *summed, *scored, *leave, *softmax)
    last = (*values, *enter, *sums, *summed, *leave)
    script: tuple[Op, ...] = (Arrive(turn(0)),) if part == 0 else ()
    for wave in work.waves:
        steps = loop(work.steps_of(wave) - 1, step, "steps") + give(QUERIES, part, work)
        script += loop(wave.tiles, first + steps + last + end(work, wave, block), "tiles")
    return script
