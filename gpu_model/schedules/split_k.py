"""Split-K in one kernel: every tile's steps in equal parts on SMs of their own, added up by the one with the first.

Option `splits` says how many parts; without it there are as many as keep all SMs at work.
"""

from __future__ import annotations

from gpu_model.fit import specialized
from gpu_model.machine import Machine
from gpu_model.products.shares import Share, filling_splits, share_cycles, share_program, split_partials, split_share
from gpu_model.ring_paths import deepest_ring
from gpu_model.schedule import Job
from gpu_model.work import Choice, CtaDemand, Grid, Work
from patterns.pipeline.program import Program

LOADERS = ("tma", "cp_async")
SERVES: tuple[Job, ...] = ("mm",)
NEEDS: tuple[str, ...] = ()
AUTO = False
WARPGROUPS = (1, 2, 3)
slot_counts = deepest_ring


def demand(work: Work, choice: Choice, machine: Machine) -> CtaDemand:
    """A producer warpgroup and the consumer's."""
    return specialized(work, choice, machine)


def predict(work: Work, choice: Choice, machine: Machine) -> int:
    """A part of a tile, or several in a row, and what adding up takes."""
    grid, share = _share(work, choice, machine)
    return share_cycles(work, grid, share, choice, machine)


def program(work: Work, choice: Choice, machine: Machine) -> Program:
    """Producer and consumer of one SM, and the SMs that have the other parts of its last tile."""
    grid, share = _share(work, choice, machine)
    return share_program(work, grid, share, choice, machine)


def partial_tiles(work: Work, choice: Choice, machine: Machine) -> int:
    """Sums that pass from one SM to another."""
    return split_partials(work.grid_of_product, work.steps, _splits(work, choice, machine))


def _share(work: Work, choice: Choice, machine: Machine) -> tuple[Grid, Share]:
    grid = work.grid_of_product
    return grid, split_share(grid, work.steps, _splits(work, choice, machine), machine.sm_count)


def _splits(work: Work, choice: Choice, machine: Machine) -> int:
    return choice.splits or filling_splits(work.grid_of_product, work.steps, machine.sm_count)
