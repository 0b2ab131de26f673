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
    given = [1] * len(stages)
    left = pcus - len(stages)
    slowest = [(-_time(stage, 1) * weights[stage.phase], index) for index, stage in enumerate(stages)]
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


def _weights(stages: Sequence[Task]) -> dict[str, float]:
    work: dict[str, int] = {}
    for stage in stages:
        work[stage.phase] = work.get(stage.phase, 0) + stage.work.total_cycles * stage.tiles
    return {phase: 1 / sqrt(max(1, cycles)) for phase, cycles in work.items()}


def _time(stage: Task, pcus: int) -> int:
    return cycles(stage.work, pcus) * stage.tiles
