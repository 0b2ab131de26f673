"""Stream-K: a warp-specialised kernel whose SMs all have equally many steps, of whatever tiles they are.

For products with few tiles, or with a last wave that is nearly empty: no SM waits for another's tile, and tiles that
two or more SMs have steps of are added up through a workspace.
"""

from __future__ import annotations

from gpu_model.fit import specialized
from gpu_model.machine import Machine
from gpu_model.products.shares import Share, even_partials, even_share, share_cycles, share_program
from gpu_model.ring_paths import deepest_ring
from gpu_model.schedule import Job
from gpu_model.work import Choice, CtaDemand, Grid, Work
from patterns.pipeline.program import Program

LOADERS = ("tma", "cp_async")
SERVES: tuple[Job, ...] = ("mm",)
NEEDS: tuple[str, ...] = ()
AUTO = False
WARPGROUPS = (1, 2, 3)
# How many SMs have steps of a tile follows from equal shares.
IDLE = ("splits",)
slot_counts = deepest_ring


def demand(work: Work, choice: Choice, machine: Machine) -> CtaDemand:
    """A producer warpgroup and the consumer's."""
    return specialized(work, choice, machine)


def predict(work: Work, choice: Choice, machine: Machine) -> int:
    """An equal share of all steps, and what adding up takes."""
    grid, share = _share(work, machine)
    return share_cycles(work, grid, share, choice, machine)


def program(work: Work, choice: Choice, machine: Machine) -> Program:
    """Producer and consumer of one SM, and the SMs that have steps of its last tile."""
    grid, share = _share(work, machine)
    return share_program(work, grid, share, choice, machine)


def partial_tiles(work: Work, choice: Choice, machine: Machine) -> int:
    """Sums that pass from one SM to another."""
    return even_partials(work.grid_of_product, work.steps, machine.sm_count)


def _share(work: Work, machine: Machine) -> tuple[Grid, Share]:
    return work.grid_of_product, even_share(work.grid_of_product, work.steps, machine.sm_count)
