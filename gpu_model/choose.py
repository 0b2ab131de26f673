"""Tiles and schedule of a kernel: of many candidates the one that is predicted to be fastest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from gpu_model.able_schedules import able_schedules, loader_of
from gpu_model.asked import Asked, Chosen
from gpu_model.cluster import has_common_operand, moved_in_cluster
from gpu_model.cuts import Priced
from gpu_model.fit import misfit, most_slots
from gpu_model.kernel_machine import loaded, loaded_clock_hz, started
from gpu_model.kernel_work import work_alone, work_under
from gpu_model.loader import is_multicast
from gpu_model.machine import Machine
from gpu_model.occupancy.resident import predicted, with_ctas
from gpu_model.options import Options
from gpu_model.schedule import (
    Schedule,
    by_tasks,
    cluster_sizes,
    dma_warp_counts,
    fixed_of,
    schedule_named,
    splits_shared,
)
from gpu_model.schedule_reason import schedule_reason
from gpu_model.smallest import row_clusters
from gpu_model.tile import SMALLEST, Targets, cuttings, targets_of
from gpu_model.traffic import moved
from gpu_model.work import Choice, Work
from patterns.errors import DoesNotFit

# Assumed: predictions that differ by less than 1 % say nothing of which is faster.
CLOSE = 1.01
# Rounds of clock, cycles at it, clock: the second is within the steps in which clocks are set.
SETTLING = 2


def choose(asked: Asked, asked_of: Machine, aims: Iterable[Targets] | None = None) -> Chosen:
    """The best candidate, by default of all aims. Raises DoesNotFit where none fits and the machine refuses such plans.

    Predictions are good to about a percent: of those that close to the fastest, the one that spreads over most SMs is
    taken, then the fastest, then the one with most slots and fewest threads.
    """
    machine = started(asked_of, asked.is_product, any(space.products for space in asked.spaces))
    candidates = _candidates(asked, targets_of(asked, machine) if aims is None else aims, machine, asked_of.clock_hz)
    fitting = [c for c in candidates if c.misfit is None]
    if not fitting and machine.fit == "refuse" and asked.options == Options():
        candidates += _candidates(asked, (SMALLEST,), machine, asked_of.clock_hz)
        fitting = [c for c in candidates if c.misfit is None]
    if not fitting and machine.fit == "refuse":
        raise _whole_misfit(asked, machine) or _nearest_misfit(candidates)
    least = min(c.predicted_cycles for c in fitting or candidates)
    chosen = _preferred([c for c in fitting or candidates if c.predicted_cycles <= least * CLOSE], machine)
    reason = schedule_reason(asked, chosen, candidates)
    return replace(_settled(asked, chosen, asked_of.clock_hz), reason=reason)


def fits(asked: Asked, asked_of: Machine, aims: Iterable[Targets]) -> bool:
    """Whether some candidate of these aims fits: the first that is found answers it."""
    machine = started(asked_of, asked.is_product, any(space.products for space in asked.spaces))
    names = able_schedules(asked, machine)
    every = cuttings(asked, aims, machine)
    found = (chosen for cuts in every for chosen in _scheduled(asked, names, cuts, machine, asked_of.clock_hz))
    return any(chosen.misfit is None for chosen in found)


def _preferred(close: Sequence[Chosen], machine: Machine) -> Chosen:
    """Of candidates that are about as fast the first to be taken; threads are counted where nothing else decides."""
    ranks = [(-min(c.tiles, machine.sm_count), c.predicted_cycles, -c.choice.slots) for c in close]
    first = min(ranks)
    alike = [c for c, rank in zip(close, ranks, strict=True) if rank == first]
    return alike[0] if len(alike) == 1 else min(alike, key=lambda c: _threads(c, machine))


def _threads(chosen: Chosen, machine: Machine) -> int:
    return schedule_named(chosen.schedule).demand(chosen.work, chosen.choice, machine).threads


def _whole_misfit(asked: Asked, machine: Machine) -> DoesNotFit | None:
    """Why no tile of a kernel can fit: the dims that every tile has whole; None if it is not for them."""
    space = max(asked.spaces, key=lambda space: space.least_bytes())
    needed = space.least_bytes(row_clusters(asked.spaces, machine)[-1]) + machine.barrier_bytes
    if not space.whole_dims or needed <= machine.smem_bytes_per_cta:
        return None
    whole = ", ".join(f"{dim} (now {space.sizes[dim]:,})" for dim in space.whole_dims)
    help_text = f"every tile has {whole} whole, so smaller extents would help"
    return DoesNotFit(asked.what, "bytes of shared memory", needed, machine.smem_bytes_per_cta, help_text)


def _nearest_misfit(candidates: list[Chosen]) -> DoesNotFit:
    """Of candidates that all do not fit, the reason of the one that needs least beyond what there is."""
    reasons = [c.misfit for c in candidates if c.misfit is not None]
    return min(reasons, key=lambda why: why.needed / max(1, why.available))


def _candidates(asked: Asked, targets: Iterable[Targets], machine: Machine, clock_hz: int) -> list[Chosen]:
    names = able_schedules(asked, machine)
    every = cuttings(asked, targets, machine)
    return [chosen for cuts in every for chosen in _scheduled(asked, names, cuts, machine, clock_hz)]


def _scheduled(
    asked: Asked, names: tuple[str, ...], cuts: tuple[Priced, ...], machine: Machine, clock_hz: int
) -> Iterator[Chosen]:
    """Every schedule of these tiles with every number of slots, predicted in cycles of `clock_hz`."""
    total = moved([priced.cut for priced in cuts], asked.cold, machine)
    alone = work_alone(asked, cuts, total, machine)
    matrix = _matrix_load(cuts, machine)
    sharing = max(priced.cut.cluster for priced in cuts)
    works: dict[tuple[object, ...], Work] = {}
    for name in names:
        schedule = schedule_named(name)
        sizes = _cluster_sizes(asked, alone, name, machine)
        cluster = fixed_of(name, "cluster", asked.fixed.cluster, sizes)
        alike = (cluster, splits_shared(schedule), by_tasks(schedule))
        if alike not in works:
            works[alike] = work_under(asked, cuts, total, alone, name, cluster, machine)
        work = works[alike]
        moves = total if cluster == 1 else moved_in_cluster(total, alone, cluster)
        for choice in _choices(asked, work, name, schedule, max(cluster, sharing), machine):
            choice, why = _least_warpgroups(asked, work, schedule, choice, machine)
            choice, why = with_ctas(asked.what, asked.fixed.ctas, work, schedule, choice, why, machine)
            cycles = predicted(schedule, work, choice, machine)
            in_clock = _in_clock(cycles, loaded_clock_hz(machine, *matrix, cycles), clock_hz)
            yield Chosen(cuts, moves, work, name, choice, in_clock, machine, why)


def _cluster_sizes(asked: Asked, work: Work, name: str, machine: Machine) -> tuple[int, ...]:
    """Sizes of clusters, the one to take first: more than one CTA where the L2 is what limits loads.

    A schedule that the user named has its usual size.
    """
    schedule = schedule_named(name)
    sizes = cluster_sizes(schedule)
    path = work.waves[0].path
    if len(sizes) == 1 or sizes[0] > 1 or asked.is_named or path.l2_cycles < path.cycles:
        return sizes
    larger = tuple(size for size in sizes[1:] if has_common_operand(work, size) and size <= machine.sm_count)
    if not larger or "clusters" not in machine.features:
        return sizes
    loader = loader_of(asked.fixed, name, machine)
    return (larger[0], sizes[0]) if is_multicast(loader) else sizes


def _settled(asked: Asked, chosen: Chosen, clock_hz: int) -> Chosen:
    """A kernel at the clock that its own load leaves: the slower it is, the less the memory's rate costs in cycles."""
    schedule, choice = schedule_named(chosen.schedule), chosen.choice
    matrix = _matrix_load(chosen.cuts, chosen.machine)
    if not chosen.machine.boost_clock_hz or not matrix[0]:
        return chosen
    total = moved([priced.cut for priced in chosen.cuts], asked.cold, chosen.machine)
    for _ in range(SETTLING):
        machine = loaded(chosen.machine, *matrix, predicted(schedule, chosen.work, choice, chosen.machine))
        alone = work_alone(asked, chosen.cuts, total, machine)
        work = work_under(asked, chosen.cuts, total, alone, chosen.schedule, choice.cluster, machine)
        cycles = predicted(schedule, work, choice, machine)
        in_clock = _in_clock(cycles, machine.clock_hz, clock_hz)
        chosen = replace(chosen, work=work, machine=machine, predicted_cycles=in_clock)
    return chosen


def _in_clock(cycles: int, of_hz: int, clock_hz: int) -> int:
    """Cycles of one clock in cycles of another, rounded up."""
    return -(-cycles * clock_hz // of_hz)


def _matrix_load(cuts: tuple[Priced, ...], machine: Machine) -> tuple[int, int]:
    """Matrix FLOPs of the whole kernel as issued, and the peak of one SM for the fastest of its types."""
    products = [product for priced in cuts for product in priced.cut.space.products]
    peaks = (machine.flops_per_cycle.get(product.dtype, machine.tf32_flops_per_cycle) for product in products)
    return sum(priced.total.matrix_flops for priced in cuts), max(peaks, default=machine.bf16_flops_per_cycle)


def _choices(
    asked: Asked, work: Work, name: str, schedule: Schedule, cluster: int, machine: Machine
) -> Iterator[Choice]:
    """Slot counts to try; what the user fixed is not varied, and may not fit."""
    fixed = asked.fixed
    loader, dma_warps = _loading(fixed, name, machine)
    most = min(most_slots(work, machine), work.tiles * work.steps)
    # A tile of one step overlaps with others only, so one slot will do where no more fit.
    counts = (1,) if most == work.steps == 1 else schedule.slot_counts(most) or (1,)
    warpgroups = fixed.warpgroups or schedule.WARPGROUPS[0]
    rest = (loader, warpgroups, cluster, dma_warps, fixed.splits or 0, asked.layout)
    return (Choice(slots, *rest) for slots in ((fixed.slots,) if fixed.slots else counts))


@lru_cache(maxsize=256)
def _loading(fixed: Options, name: str, machine: Machine) -> tuple[str, int]:
    """The loader of a schedule, and its warps that only load."""
    dma_warps = fixed_of(name, "dma_warps", fixed.dma_warps, dma_warp_counts(schedule_named(name)))
    return loader_of(fixed, name, machine), dma_warps


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
