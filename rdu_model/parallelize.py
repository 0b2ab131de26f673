"""Parallelisation: PCUs to stages, whole ones, so that the slowest stage is as fast as the fabric allows.

Stages that never work at the same time (loops that follow one another in a single execution) share the fabric badly:
the whole time is then the sum of the phases' slowest stages, and that is least if a phase has PCUs in proportion to the
square root of its work. Weights say so: a stage's time counts divided by the root of its phase's work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import prod, sqrt

from rdu_model.price import Grid, cycles, fewest_pcus, spread

# By so much longer times are tried when PCUs are looked for with which the slowest stage takes at most some time.
STEP = 1.1


@dataclass(frozen=True)
class Task:
    """A stage: the grid of its tile, how many tiles it has, the phase in which it works ('' if there is only one)."""

    work: Grid
    tiles: int
    phase: str = ""


def allocate(stages: Sequence[Task], pcus: int) -> tuple[int, ...]:
    """PCUs of each stage, at least 1 each; there are at least as many PCUs as stages.

    The slowest stage gets the fewest PCUs that make it faster, again and again; one that cannot be helped with what is
    left is put aside, and the others go on. So the slowest stage is as fast as it can be, then the second slowest ...
    """
    weights = _weights(stages)
    given = _on_the_way(stages, [weights[stage.phase] for stage in stages], pcus)
    left = pcus - sum(given)
    slowest = [(-_time(stage, given[at]) * weights[stage.phase], at) for at, stage in enumerate(stages)]
    heapify(slowest)
    while slowest:
        _, index = heappop(slowest)
        stage = stages[index]
        each = prod(spread(stage.work.blocks, given[index]))
        if each == 1 or each * stage.work.block_cycles <= stage.work.least_cycles:
            continue
        needed = fewest_pcus(stage.work.blocks, each - 1)
        if needed - given[index] <= left:
            left -= needed - given[index]
            given[index] = needed
            heappush(slowest, (-_time(stage, needed) * weights[stage.phase], index))
    return tuple(given)


def _on_the_way(stages: Sequence[Task], weights: Sequence[float], pcus: int) -> list[int]:
    """What the stages have at some moment on the way there, before anybody lacks PCUs.

    That is when the slowest takes no longer than some time: each then has the fewest with which it does so, too.
    """
    blocks = [prod(stage.work.blocks) for stage in stages]
    work = sum(stage.work.total_cycles * stage.tiles * weight for stage, weight in zip(stages, weights, strict=True))
    longest = work / max(1, pcus)
    while True:
        longest *= STEP
        most = [_most_blocks(*one, longest) for one in zip(stages, weights, blocks, strict=True)]
        if sum([-(-count // each) for count, each in zip(blocks, most, strict=True)]) <= pcus:
            given = [fewest_pcus(stage.work.blocks, each) for stage, each in zip(stages, most, strict=True)]
            if sum(given) <= pcus:
                return given


def _most_blocks(stage: Task, weight: float, blocks: int, longest: float) -> int:
    """The most blocks of one PCU with which a stage takes no longer, or where more PCUs are of no use."""
    each, least = stage.work.block_cycles, stage.work.least_cycles
    if not each * stage.tiles:
        return max(1, blocks)
    most = min(blocks, int(longest / (each * stage.tiles * weight)) + 1)
    while most > 1 and max(most * each, least) * stage.tiles * weight > longest:
        most -= 1
    return min(blocks, max(1, most, least // each))


def _weights(stages: Sequence[Task]) -> dict[str, float]:
    work: dict[str, int] = {}
    for stage in stages:
        work[stage.phase] = work.get(stage.phase, 0) + stage.work.total_cycles * stage.tiles
    return {phase: 1 / sqrt(max(1, cycles)) for phase, cycles in work.items()}


def _time(stage: Task, pcus: int) -> int:
    return cycles(stage.work, pcus) * stage.tiles
