"""Tiles and schedule of a kernel: of many candidates the one that is predicted to be fastest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from gpu_model.asked import Asked, Chosen
from gpu_model.assign import work_of
from gpu_model.cluster import cluster_ctas, in_cluster, moved_in_cluster
from gpu_model.cuts import Priced, row_bytes
from gpu_model.fit import misfit, most_slots
from gpu_model.loader import usable_loaders
from gpu_model.machine import Machine
from gpu_model.online import work_of_online
from gpu_model.options import Options
from gpu_model.resident import predicted, with_ctas
from gpu_model.schedule import (
    Schedule,
    by_tasks,
    cluster_sizes,
    dma_warp_counts,
    fixed_of,
    schedule_named,
    splits_shared,
    tried,
)
from gpu_model.smem_layout import check_layout, padding_bytes
from gpu_model.tile import SMALLEST, Targets, cuttings, targets_of
from gpu_model.traffic import Moved, moved
from gpu_model.warp_tasks import with_tasks
from gpu_model.work import Choice, Work
from patterns.errors import DoesNotFit

# Predictions that differ by less say nothing of which is faster.
CLOSE = 1.01


def choose(asked: Asked, machine: Machine, parts: int = 1) -> Chosen:
    """The best candidate. Raises DoesNotFit where none fits and the machine refuses such plans.

    Predictions are good to about a percent: of those that close to the fastest, the one that spreads over most SMs is
    taken, then the fastest, then the one with most slots and fewest warpgroups.
    """
    candidates = _candidates(asked, targets_of(asked, machine), machine, parts)
    fitting = [c for c in candidates if c.misfit is None]
    if not fitting and machine.fit == "refuse" and asked.options == Options():
        candidates += _candidates(asked, (SMALLEST,), machine, parts)
        fitting = [c for c in candidates if c.misfit is None]
    if not fitting and machine.fit == "refuse":
        raise _whole_misfit(asked, machine) or _nearest_misfit(candidates)
    least = min(c.predicted_cycles for c in fitting or candidates)
    close = (c for c in fitting or candidates if c.predicted_cycles <= least * CLOSE)
    return min(close, key=lambda c: _preference(c, machine))


def _preference(chosen: Chosen, machine: Machine) -> tuple[int, int, int, int]:
    active = min(chosen.tiles, machine.sm_count)
    return (-active, chosen.predicted_cycles, -chosen.choice.slots, chosen.choice.warpgroups)


def _whole_misfit(asked: Asked, machine: Machine) -> DoesNotFit | None:
    """Why no tile of a kernel can fit: the dims that every tile has whole; None if it is not for them."""
    space = max(asked.spaces, key=lambda space: space.least_bytes())
    needed = space.least_bytes() + machine.barrier_bytes
    if not space.whole_dims or needed <= machine.smem_bytes_per_cta:
        return None
    whole = ", ".join(f"{dim} (now {space.sizes[dim]:,})" for dim in space.whole_dims)
    help_text = f"every tile has {whole} whole, so smaller extents would help"
    return DoesNotFit(asked.what, "bytes of shared memory", needed, machine.smem_bytes_per_cta, help_text)


def _nearest_misfit(candidates: list[Chosen]) -> DoesNotFit:
    """Of candidates that all do not fit, the reason of the one that needs least beyond what there is."""
    reasons = [c.misfit for c in candidates if c.misfit is not None]
    return min(reasons, key=lambda why: why.needed / max(1, why.available))


def _candidates(asked: Asked, targets: Iterable[Targets], machine: Machine, parts: int) -> list[Chosen]:
    return [chosen for cuts in cuttings(asked, targets, machine, parts) for chosen in _scheduled(asked, cuts, machine)]


def _scheduled(asked: Asked, cuts: tuple[Priced, ...], machine: Machine) -> Iterator[Chosen]:
    """Every schedule of these tiles with every number of slots."""
    total = moved([priced.cut for priced in cuts], asked.once, machine)
    if asked.online:
        alone = work_of_online(asked.what, cuts[0], total, machine)
    else:
        alone = work_of(asked.what, cuts, total, machine, asked.members, collective=asked.job == "collective")
    alone = _laid_in_smem(alone, cuts, asked)
    for name in tried(asked.schedule, asked.job, machine):
        schedule = schedule_named(name)
        cluster = fixed_of(name, "cluster", asked.fixed.cluster, cluster_sizes(schedule))
        work = alone if cluster == 1 else _clustered(asked, cuts, total, machine, cluster, splits_shared(schedule))
        work = with_tasks(work, cuts, machine) if by_tasks(schedule) else work
        moves = total if cluster == 1 else moved_in_cluster(total, alone, cluster)
        for choice in _choices(asked, work, name, schedule, machine):
            choice, why = _least_warpgroups(asked, work, schedule, replace(choice, cluster=cluster), machine)
            choice, why = with_ctas(asked.what, asked.fixed.ctas, work, schedule, choice, why, machine)
            yield Chosen(cuts, moves, work, name, choice, predicted(schedule, work, choice, machine), why)


def _laid_in_smem(work: Work, cuts: tuple[Priced, ...], asked: Asked) -> Work:
    """The work with what its operands' layout adds to a slot."""
    wide = max((row_bytes(priced.cut, p) for priced in cuts for p in priced.cut.space.products), default=0)
    return replace(work, padding_bytes=padding_bytes(asked.layout, work.slot_bytes, wide))


def _clustered(asked: Asked, cuts: tuple[Priced, ...], total: Moved, machine: Machine, size: int, split: bool) -> Work:
    """The work of the busiest SM where CTAs come in clusters: on as many SMs as clusters reach, operands shared."""
    reached = replace(machine, sm_count=cluster_ctas(machine, size))
    return in_cluster(work_of(asked.what, cuts, total, reached, asked.members), size, split)


def _choices(asked: Asked, work: Work, name: str, schedule: Schedule, machine: Machine) -> Iterator[Choice]:
    """Slot counts to try; what the user fixed is not varied, and may not fit."""
    fixed = asked.fixed
    loader = usable_loaders(name, schedule.LOADERS, fixed.loader, machine)[0]
    counts = schedule.slot_counts(min(most_slots(work, machine), work.tiles * work.steps)) or (1,)
    warpgroups = fixed.warpgroups or schedule.WARPGROUPS[0]
    dma_warps = fixed_of(name, "dma_warps", fixed.dma_warps, dma_warp_counts(schedule))
    if fixed.layout:
        check_layout(fixed.layout, loader)
    usual = Choice(1, loader, warpgroups, dma_warps=dma_warps, splits=fixed.splits or 0, layout=asked.layout)
    return (replace(usual, slots=slots) for slots in ((fixed.slots,) if fixed.slots else counts))


def _least_warpgroups(
    asked: Asked, work: Work, schedule: Schedule, choice: Choice, machine: Machine
) -> tuple[Choice, DoesNotFit | None]:
    """The choice with as few warpgroups as hold the tile; with why it does not fit if none do."""
    why = misfit(asked.what, schedule.demand(work, choice, machine), work, choice, machine)
    if why is None or asked.fixed.warpgroups:
        return choice, why
    for warpgroups in schedule.WARPGROUPS[1:]:
        choice = replace(choice, warpgroups=warpgroups)
        why = misfit(asked.what, schedule.demand(work, choice, machine), work, choice, machine)
        if why is None:
            break
    return choice, why
