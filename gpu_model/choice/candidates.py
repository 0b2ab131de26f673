"""Candidates for a kernel: its tiles under every schedule with every number of slots, and what each is predicted to
take. Of those with a bound that is known before, most need no prediction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import heapify, heappop, heappush

from gpu_model.asked import Asked, Chosen
from gpu_model.attention.loads import least_loading
from gpu_model.choice.able_schedules import able_schedules, loader_of
from gpu_model.choice.bounds import least_cycles, reading_cycles
from gpu_model.choice.found import NO_BOUND, Found, Rank
from gpu_model.fit import misfit, most_slots
from gpu_model.kernel_machine import in_clock, least_in_clock, loaded_clock_hz
from gpu_model.kernel_work import Way, way_of, work_alone, work_moving, work_under
from gpu_model.loader import is_multicast
from gpu_model.machine import Machine
from gpu_model.occupancy.resident import predicted, with_ctas
from gpu_model.options import Options
from gpu_model.schedule import (
    Schedule,
    all_bound,
    cluster_sizes,
    dma_warp_counts,
    fixed_of,
    gains_by_slots,
    schedule_named,
)
from gpu_model.tiles.cluster import has_common_operand, moved_in_cluster
from gpu_model.tiles.cuts import Cut, Priced
from gpu_model.tiles.tile import Targets, all_cuttings, priced
from gpu_model.traffic import Moved, moved
from gpu_model.work import Choice, Work
from patterns.errors import DoesNotFit
from patterns.once import computed_once
from patterns.pipeline.hashed import changed


def candidates(asked: Asked, targets: Iterable[Targets], machine: Machine, clock_hz: int) -> list[Chosen]:
    """All that may be chosen or told of, in cycles of `clock_hz`, in the order of targets.

    Tiles of a schedule are left out where, by a bound, others that fit are taken before them (see Found); and slots
    that change nothing.
    """
    names = able_schedules(asked, machine)
    tried = [_Tiled(asked, cuts, machine) for cuts in all_cuttings(asked, tuple(targets), machine)]
    if asked.is_named or asked.fixed != Options():
        return [chosen for tiled in tried for chosen in _scheduled(asked, names, tiled, machine, clock_hz)]
    found = _found(asked, names, tried, machine, clock_hz)
    return [chosen for number in range(len(tried)) for name in names for chosen in found.get((number, name), ())]


def _found(
    asked: Asked, names: tuple[str, ...], tried: Sequence[_Tiled], machine: Machine, clock_hz: int
) -> Mapping[tuple[int, str], Sequence[Chosen]]:
    """Those of each number of `tried` and schedule that are not left out. The least bound is looked at first, and made
    closer before candidates are made of it."""
    found = Found(asked.reasons)
    bounds = [_bounds(asked, tiled, names, machine, clock_hz, moving=True) for tiled in tried]
    waiting = [(min(bound.values()), number, "") for number, bound in enumerate(bounds)]
    heapify(waiting)
    while waiting:
        bound, number, name = heappop(waiting)
        tiled = tried[number]
        busy = min(tiled.tiles, machine.sm_count)
        if not name:
            left = [other for other in names if not found.rules_out(other, busy, bounds[number][other])]
            closer = _bounds(asked, tiled, names, machine, clock_hz) if left else {}
            for other in left:
                heappush(waiting, (closer[other], number, other))
        elif not found.rules_out(name, busy, bound):
            found.add(number, name, busy, _scheduled(asked, (name,), tiled, machine, clock_hz))
    return found.by_place


def any_fits(asked: Asked, targets: Iterable[Targets], machine: Machine, clock_hz: int) -> bool:
    """Whether some candidate fits: the first that is found answers it."""
    names = able_schedules(asked, machine)
    tried = (_Tiled(asked, cuts, machine) for cuts in all_cuttings(asked, tuple(targets), machine))
    found = (chosen for tiled in tried for chosen in _scheduled(asked, names, tiled, machine, clock_hz))
    return any(chosen.misfit is None for chosen in found)


# More than any ring has.
MOST_SLOTS = 1_000_000


@dataclass(frozen=True)
class _Tiled:
    """Tiles with what they move and compute under any schedule, as far as it is asked for."""

    asked: Asked
    cuts: tuple[Cut, ...]
    machine: Machine

    @computed_once
    def tiles(self) -> int:
        """Of all spaces."""
        return sum([cut.tiles for cut in self.cuts])

    @computed_once
    def priced(self) -> tuple[Priced, ...]:
        """The cuts with what they ask of an SM's units."""
        return priced(self.asked, self.cuts, self.machine)

    @computed_once
    def total(self) -> Moved:
        """What all tiles move."""
        return moved(self.cuts, self.asked.cold, self.machine)

    @computed_once
    def alone(self) -> Work:
        """Of a CTA that shares nothing (see work_alone)."""
        return work_alone(self.asked, self.priced, self.total, self.machine)

    @computed_once
    def _under(self) -> dict[Way, Work]:
        return {}

    def under(self, way: Way) -> Work:
        """Of a CTA that is scheduled so, found once for all schedules of the way."""
        if way not in self._under:
            self._under[way] = work_under(self.asked, self.priced, self.total, self.alone, way, self.machine)
        return self._under[way]

    @computed_once
    def matrix(self) -> tuple[int, int]:
        """See matrix_load."""
        return matrix_load(self.priced, self.machine)


def _bounds(
    asked: Asked, tiled: _Tiled, names: tuple[str, ...], machine: Machine, clock_hz: int, *, moving: bool = False
) -> Mapping[str, Rank]:
    """The first rank that these tiles can have under each schedule; moving: if computing took no time.

    Where a mask leaves tiles different steps, schedules differ in which SM has most: there is no bound. Clusters load
    less; but they read as much of the HBM.
    """
    if moving and asked.online and not tiled.cuts[0].kept and all_bound(names):
        cycles = least_loading(tiled.cuts[0], sum(asked.cold.values()), machine)
        rank = least_in_clock(machine, *tiled.matrix, cycles, clock_hz), -MOST_SLOTS
        return dict.fromkeys(names, rank)
    work = work_moving(asked, tiled.cuts, tiled.total, machine) if moving else tiled.alone
    if work is None:
        return dict.fromkeys(names, NO_BOUND)
    slots = min(most_slots(work, machine), work.tiles * work.steps)
    if any(cut.kept for cut in tiled.cuts):
        return dict.fromkeys(names, (0, -slots))
    loaders = _loaders(asked.fixed, names, machine)
    found = least_cycles(names, loaders, work, machine)
    # What only moves has no matrix work, whose clock would have to be known.
    load = (0, 1) if moving else tiled.matrix
    ranks = {cycles: (least_in_clock(machine, *load, cycles, clock_hz), -slots) for cycles in set(found)}
    bounds = {name: ranks[cycles] for name, cycles in zip(names, found, strict=True)}
    clustered = [n for n in names if _cluster_sizes(asked, work, n, machine)[0] > 1] if asked.is_product else ()
    if clustered:
        reading = reading_cycles(tiled.total.hbm_read, machine)
        bounds |= dict.fromkeys(clustered, (least_in_clock(machine, *load, reading, clock_hz), -MOST_SLOTS))
    return bounds


def _scheduled(
    asked: Asked, names: tuple[str, ...], tiled: _Tiled, machine: Machine, clock_hz: int
) -> Iterator[Chosen]:
    """Every schedule of these tiles with the numbers of slots that may be chosen, predicted in cycles of `clock_hz`."""
    cuts, total, alone = tiled.priced, tiled.total, tiled.alone
    sharing = max([priced.cut.cluster for priced in cuts])
    for name in names:
        schedule = schedule_named(name)
        sizes = _cluster_sizes(asked, alone, name, machine)
        cluster = fixed_of(name, "cluster", asked.fixed.cluster, sizes)
        work = tiled.under(way_of(schedule, cluster))
        moves = total if cluster == 1 else moved_in_cluster(total, alone, cluster)
        choices = _choices(asked, work, name, schedule, max(cluster, sharing), machine)
        for choice, why, cycles in _predicted(asked, work, schedule, tuple(choices), machine, tiled.matrix[0]):
            at_hz = loaded_clock_hz(machine, *tiled.matrix, cycles)
            yield Chosen(cuts, moves, work, name, choice, in_clock(cycles, at_hz, clock_hz), machine, why)


def _predicted(
    asked: Asked, work: Work, schedule: Schedule, choices: tuple[Choice, ...], machine: Machine, matrix_flops: int
) -> Iterator[tuple[Choice, DoesNotFit | None, int]]:
    """Choices of more and more slots, as they fit, with their cycles.

    Under a schedule with a bound, more slots take no longer. If some take as long as most do, so do all between: these
    are left out, and so are they, for most are preferred. Without matrix work, whose clock may be higher if it takes
    longer, all fewer are.
    """
    if len(choices) < 2 or not gains_by_slots(schedule):
        yield from (_set(asked, work, schedule, choice, machine) for choice in choices)
        return
    most = _set(asked, work, schedule, choices[-1], machine)
    is_best = most[1] is None and most[0].ctas == 1
    for choice in () if is_best and not matrix_flops else choices[:-1]:
        found = _set(asked, work, schedule, choice, machine)
        if is_best and found[1] is None and found[2] == most[2]:
            break
        yield found
    yield most


def _set(
    asked: Asked, work: Work, schedule: Schedule, choice: Choice, machine: Machine
) -> tuple[Choice, DoesNotFit | None, int]:
    """One choice with as many warpgroups and CTAs as are due, why it does not fit, and the cycles that it takes."""
    choice, why = _least_warpgroups(asked, work, schedule, choice, machine)
    choice, why = with_ctas(asked.what, asked.fixed.ctas, work, schedule, choice, why, machine)
    return choice, why, predicted(schedule, work, choice, machine)


def matrix_load(cuts: tuple[Priced, ...], machine: Machine) -> tuple[int, int]:
    """Matrix FLOPs of the whole kernel as issued, and the peak of one SM for the fastest of its types."""
    products = [product for priced in cuts for product in priced.cut.space.products]
    peaks = [machine.flops_per_cycle.get(product.dtype, machine.tf32_flops_per_cycle) for product in products]
    return sum([priced.matrix_flops for priced in cuts]), max(peaks, default=machine.bf16_flops_per_cycle)


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


@lru_cache(maxsize=256)
def _loaders(fixed: Options, names: tuple[str, ...], machine: Machine) -> tuple[str, ...]:
    return tuple(_loading(fixed, name, machine)[0] for name in names)


def _least_warpgroups(
    asked: Asked, work: Work, schedule: Schedule, choice: Choice, machine: Machine
) -> tuple[Choice, DoesNotFit | None]:
    """The choice with as few warpgroups as hold the tile; with why it does not fit if none do."""
    why = misfit(asked.what, schedule.demand(work, choice, machine), work, choice, machine)
    if why is None or asked.fixed.warpgroups:
        return choice, why
    for warpgroups in schedule.WARPGROUPS[1:]:
        choice = changed(choice, warpgroups=warpgroups)
        why = misfit(asked.what, schedule.demand(work, choice, machine), work, choice, machine)
        if why is None:
            break
    return choice, why
