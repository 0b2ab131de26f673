"""The work of a kernel's busiest SM as a schedule has it: alone or in clusters, with its tasks and its layout."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpu_model.asked import Asked
from gpu_model.attention.work import in_grid_order, work_of_online
from gpu_model.machine import Machine
from gpu_model.schedule import Schedule, adds_up, by_tasks, longest_first, splits_shared
from gpu_model.smem_layout import layout_named, padding_bytes
from gpu_model.tiles.assign import latency_cycles, transfers_of, waves, with_grid, work_of
from gpu_model.tiles.cluster import in_cluster, reached
from gpu_model.tiles.cuts import Cut, Priced, row_bytes
from gpu_model.traffic import Moved
from gpu_model.warps.tasks import with_tasks
from gpu_model.work import Work
from patterns.units import exact


def work_alone(asked: Asked, cuts: tuple[Priced, ...], total: Moved, machine: Machine) -> Work:
    """Of a CTA that shares nothing with others but the rows of its tile."""
    cluster = max(priced.cut.cluster for priced in cuts)
    machine = reached(machine, cluster) if cluster > 1 else machine
    if asked.online:
        work = work_of_online(asked.what, cuts[0], total, machine)
    else:
        work = work_of(asked.what, cuts, total, machine, asked.members, collective=asked.job == "collective")
        work = with_grid(work, cuts, total, machine) if asked.is_named and adds_up(asked.schedule) else work
    return _laid_in_smem(work, cuts, asked)


def work_moving(asked: Asked, cuts: tuple[Cut, ...], total: Moved, machine: Machine) -> Work | None:
    """`work_alone` if computing took no time, as far as schedules of streams look at it: no cut need be priced for it.

    None where the rest says how tiles are given out, or which of several spaces stands for all.
    """
    cut = cuts[0]
    if len(cuts) > 1 or asked.job != "stream" or cut.space.products or cut.cluster > 1:
        return None
    return Work(
        name=asked.what,
        waves=waves(cut.tiles, transfers_of(cuts, cut, total), machine),
        steps=cut.steps_per_tile,
        slot_bytes=cut.step_bytes,
        held_bytes=cut.held_bytes,
        step=(),
        finish=(),
        latency_cycles=latency_cycles(cuts, total, machine, summed=False),
    )


@dataclass(frozen=True)
class Way:
    """What the work of a CTA depends on of how it is scheduled: schedules with equal ways have equal work.

    splits: whether a cluster's CTAs load parts of what they share. tasks: whether tiles are tasks of a queue.
    longest_first: whether the longest tiles begin. in_tmem: whether sums are in tensor memory, not in registers.
    """

    cluster: int
    splits: bool
    tasks: bool
    longest_first: bool
    in_tmem: bool


def way_of(schedule: Schedule, cluster: int) -> Way:
    """The way of a schedule in a cluster of so many."""
    in_tmem = "tmem" in schedule.NEEDS
    return Way(cluster, splits_shared(schedule), by_tasks(schedule), longest_first(schedule), in_tmem)


def work_under(asked: Asked, cuts: tuple[Priced, ...], total: Moved, alone: Work, way: Way, machine: Machine) -> Work:
    """Of a CTA that is scheduled so. alone: see work_alone."""
    work = alone if way.cluster == 1 else _clustered(asked, cuts, total, machine, way.cluster, way.splits)
    if asked.online and not way.longest_first:
        work = in_grid_order(work, cuts[0].cut, machine)
    work = _in_registers(work, machine) if asked.is_product and not way.in_tmem else work
    return with_tasks(work, cuts, machine) if way.tasks else work


def _in_registers(work: Work, machine: Machine) -> Work:
    """The work where sums stay in registers: beside tensor memory only mma.sync is left for that, at its own rate."""
    if not machine.tmem_columns or machine.mma_sync_efficiency == 1:
        return work
    share = exact(machine.mma_sync_efficiency)
    return replace(work, step=tuple(use.at_share(share) if use.unit == "tc" else use for use in work.step))


def _laid_in_smem(work: Work, cuts: tuple[Priced, ...], asked: Asked) -> Work:
    """The work with what its operands' layout adds to a slot."""
    if not layout_named(asked.layout).SCATTERED:
        return work
    wide = max((row_bytes(priced.cut, p) for priced in cuts for p in priced.cut.space.products), default=0)
    return replace(work, padding_bytes=padding_bytes(asked.layout, work.slot_bytes, wide))


def _clustered(asked: Asked, cuts: tuple[Priced, ...], total: Moved, machine: Machine, size: int, split: bool) -> Work:
    """The work of the busiest SM where CTAs come in clusters: on as many SMs as clusters reach, operands shared."""
    return in_cluster(work_of(asked.what, cuts, total, reached(machine, size), asked.members), size, split)
