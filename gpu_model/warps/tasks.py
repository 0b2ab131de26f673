"""The nodes of a kernel as tasks for warps: what each takes of one sub-partition, needs, holds and hands over."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from gpu_model.machine import Machine
from gpu_model.occupancy.limits import WARP
from gpu_model.tiles.assign import Sharing, uses
from gpu_model.tiles.cuts import Cut, Priced, amounts_of
from gpu_model.tiles.space import steps_of
from gpu_model.warps.assignment import lanes_of
from gpu_model.work import Task, Use, Work
from patterns.axes import points
from patterns.graph import Node

# Results are handed over as fp32.
VALUE_BYTES = 4


def with_tasks(work: Work, cuts: Sequence[Priced], machine: Machine) -> Work:
    """The work with the nodes of its dearest space as tasks: spaces side by side share the grid, not an SM's warps."""
    cut = max(cuts, key=lambda priced: sum(use.cycles for use in _all_uses(priced, machine))).cut
    tasks = tuple(_task(cut, node, machine) for node in cut.space.nodes)
    return replace(work, tasks=tasks)


def _all_uses(priced: Priced, machine: Machine) -> Iterator[Use]:
    for amounts in (*priced.step, priced.finish):
        yield from uses(amounts, machine, Sharing(1))


def _task(cut: Cut, node: Node, machine: Machine) -> Task:
    made = {other.writes: other.name for other in cut.space.nodes}
    loaded = {access.tensor: access for access in cut.space.reads}
    fixed = tuple(
        (access.tensor, -(-access.elements(cut.sizes) // WARP))
        for name in dict.fromkeys(node.reads)
        if (access := loaded.get(name)) is not None and not _moving(cut, access.changes)
    )
    held = [name for name, _ in fixed]
    read = [name for name in dict.fromkeys(node.reads) if name not in held]
    tensor = cut.space.graph.tensor_named[node.writes]
    kept = {access.tensor for access in cut.space.writes}
    return Task(
        name=node.name,
        uses=tuple(_of_one(use, machine) for use in uses(amounts_of(cut, node, machine), machine, Sharing(1))),
        reads=tuple(made[name] for name in read if name in made),
        result_bytes=points(tensor.dims, cut.sizes) * VALUE_BYTES,
        values=(*read, node.writes),
        constants=fixed,
        loads=any(name in loaded for name in read),
        stores=node.writes in kept,
        ends=not cut.in_step(node),
    )


def _of_one(use: Use, machine: Machine) -> Use:
    """The same use on one sub-partition, which has its part of the lanes; labelled with its unit."""
    return replace(use, cycles=use.cycles * lanes_of(use.unit, machine))


def _moving(cut: Cut, dims: Collection[str]) -> tuple[str, ...]:
    """Those of the dims along which tiles or steps follow each other."""
    followed = {loop.dim for loop in (*cut.loops, *cut.steps) if steps_of(loop, cut.space.sizes) > 1}
    return tuple(dim for dim in dims if dim in followed)
