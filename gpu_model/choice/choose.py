"""Tiles and schedule of a kernel: of many candidates the one that is predicted to be fastest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gpu_model.asked import Asked, Chosen
from gpu_model.choice.candidates import any_fits, candidates, matrix_load
from gpu_model.choice.found import CLOSE
from gpu_model.choice.schedule_reason import schedule_reason
from gpu_model.choice.smallest import row_clusters
from gpu_model.kernel_machine import in_clock, loaded, started
from gpu_model.kernel_work import way_of, work_alone, work_under
from gpu_model.machine import Machine
from gpu_model.occupancy.resident import predicted
from gpu_model.options import Options
from gpu_model.schedule import schedule_named
from gpu_model.tiles.tile import SMALLEST, Targets, targets_of
from gpu_model.traffic import moved
from patterns.errors import DoesNotFit
from patterns.pipeline.hashed import changed

# Rounds of clock, cycles at it, clock: the second is within the steps in which clocks are set.
SETTLING = 2


def choose(asked: Asked, asked_of: Machine, aims: Iterable[Targets] | None = None) -> Chosen:
    """The best candidate, by default of all aims. Raises DoesNotFit where none fits and the machine refuses such plans.

    Predictions are good to about a percent: of those that close to the fastest, the one that spreads over most SMs is
    taken, then the fastest, then the one with most slots and fewest threads.
    """
    machine = started(asked_of, asked.is_product, any(space.products for space in asked.spaces))
    tried = candidates(asked, targets_of(asked, machine) if aims is None else aims, machine, asked_of.clock_hz)
    fitting = [c for c in tried if c.misfit is None]
    if not fitting and machine.fit == "refuse" and asked.options == Options():
        tried += candidates(asked, (SMALLEST,), machine, asked_of.clock_hz)
        fitting = [c for c in tried if c.misfit is None]
    if not fitting and machine.fit == "refuse":
        raise _whole_misfit(asked, machine) or _nearest_misfit(tried)
    least = min(c.predicted_cycles for c in fitting or tried)
    chosen = _preferred([c for c in fitting or tried if c.predicted_cycles <= least * CLOSE], machine)
    reason = schedule_reason(asked, chosen, tried) if asked.reasons else ""
    return changed(_settled(asked, chosen, asked_of.clock_hz), reason=reason)


def fits(asked: Asked, asked_of: Machine, aims: Iterable[Targets]) -> bool:
    """Whether some candidate of these aims fits: the first that is found answers it."""
    machine = started(asked_of, asked.is_product, any(space.products for space in asked.spaces))
    return any_fits(asked, aims, machine, asked_of.clock_hz)


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


def _nearest_misfit(tried: Sequence[Chosen]) -> DoesNotFit:
    """Of candidates that all do not fit, the reason of the one that needs least beyond what there is; of several also
    how many each limit refused."""
    reasons = [c.misfit for c in tried if c.misfit is not None]
    nearest = min(reasons, key=_excess)
    if len(reasons) == 1:
        return nearest
    told = f"{nearest.help_text}; none of {len(reasons):,} candidates fits: {', '.join(_refused(reasons))}"
    lack = (nearest.resource, nearest.needed, nearest.available)
    return DoesNotFit(nearest.what, *lack, told, would_do=nearest.would_do)


def _excess(why: DoesNotFit) -> float:
    return why.needed / max(1, why.available)


def _refused(reasons: Sequence[DoesNotFit]) -> Iterator[str]:
    """For each limit how many candidates need more than there is, and what the least of them needs."""
    by_limit: dict[tuple[str, int], list[int]] = {}
    for why in reasons:
        by_limit.setdefault((why.resource, why.available), []).append(why.needed)
    for (resource, available), needed in sorted(by_limit.items(), key=lambda found: -len(found[1])):
        yield f"{len(needed):,} for {resource} (at least {min(needed):,} of {available:,})"


def _settled(asked: Asked, chosen: Chosen, clock_hz: int) -> Chosen:
    """A kernel at the clock that its own load leaves: the slower it is, the less the memory's rate costs in cycles."""
    schedule, choice = schedule_named(chosen.schedule), chosen.choice
    matrix = matrix_load(chosen.cuts, chosen.machine)
    if not chosen.machine.boost_clock_hz or not matrix[0]:
        return chosen
    total = moved([priced.cut for priced in chosen.cuts], asked.cold, chosen.machine)
    cycles = predicted(schedule, chosen.work, choice, chosen.machine)
    for _ in range(SETTLING):
        machine = loaded(chosen.machine, *matrix, cycles)
        if machine.clock_hz == chosen.machine.clock_hz:
            break
        alone = work_alone(asked, chosen.cuts, total, machine)
        work = work_under(asked, chosen.cuts, total, alone, way_of(schedule, choice.cluster), machine)
        cycles = predicted(schedule, work, choice, machine)
        own = in_clock(cycles, machine.clock_hz, clock_hz)
        chosen = changed(chosen, work=work, machine=machine, predicted_cycles=own)
    return chosen
