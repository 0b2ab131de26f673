"""Attention with a producer: every computing warpgroup makes scores, softmax and sums one after another.

Warpgroups have rows of their own and do not wait for each other: who asks first has the tensor core.
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
    take,
    tensor_cycles,
    two_or_more,
)
from gpu_model.machine import Machine
from gpu_model.roles import loop, needed
from gpu_model.schedule import Job
from gpu_model.work import Choice, CtaDemand, Work
from patterns.pipeline.program import Program
from patterns.pipeline.script import Op

LOADERS = ("tma",)
SERVES: tuple[Job, ...] = ("online",)
NEEDS: tuple[str, ...] = ("tma",)
AUTO = True
WARPGROUPS = (1, 2, 3)
slot_counts = two_or_more
at_least = least_predicted


def demand(work: Work, choice: Choice, machine: Machine) -> CtaDemand:
    """A producer and the computing warpgroups; probabilities take the place of their scores."""
    return demand_of(work, choice, machine)


def predict(work: Work, choice: Choice, machine: Machine) -> int:
    """A warpgroup's step is its chain; several share the units."""
    blocks = blocks_of(work, choice, machine, overlaps=choice.warpgroups > 1)
    waits = 2 * (machine.barrier_cycles + machine.mma_latency_cycles)
    longest = max(block.chain_cycles for block in blocks)
    # Who waits for the tensor core gets it when the other has seen its product's end.
    shared = tensor_cycles(blocks) + waits if choice.warpgroups > 1 else 0
    return predicted(work, choice, machine, blocks, Pace(max(longest + waits, shared), 0))


def matrix_reach(work: Work, choice: Choice, machine: Machine) -> float:
    """What instructions beside products leave of the tensor core's rate."""
    return float(reach_of(work, blocks_of(work, choice, machine, overlaps=choice.warpgroups > 1)))


def program(work: Work, choice: Choice, machine: Machine) -> Program:
    """One role that loads, and one for each warpgroup."""
    blocks = blocks_of(work, choice, machine, overlaps=choice.warpgroups > 1)
    return program_of(work, choice, machine, [_script(work, machine, block, part) for part, block in enumerate(blocks)])


def _script(work: Work, machine: Machine, block: Block, part: int) -> tuple[Op, ...]:
    begin = begin_tile(part, work, machine) + make_room(work)
    scores = (*take(KEYS, part, work, machine), *multiply(block.scores, SCORES, machine), *give(KEYS, part, work))
    sums = (*take(VALUES, part, work, machine), *multiply(block.values, SUMS, machine), *give(VALUES, part, work))
    softmax = needed(*block.softmax)
    script: tuple[Op, ...] = ()
    for wave in work.waves:
        steps = loop(work.steps_of(wave) - 1, scores + softmax + sums, "steps")
        last = scores + give(QUERIES, part, work) + softmax + sums
        script += loop(wave.tiles, begin + steps + last + end(work, wave, block), "tiles")
    return script
