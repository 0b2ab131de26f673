"""What schedules with a bound are predicted to take at least for a Work, before any number of slots is known."""

from __future__ import annotations

from functools import lru_cache

from gpu_model.machine import Machine
from gpu_model.price import arrival_cycles
from gpu_model.schedule import Bound, bound_of, schedule_named, serves_online
from gpu_model.work import Choice, Use, Wave, Work
from patterns.pipeline.hashed import changed

# One tile whose operands are in place and whose result is not stored.
IN_PLACE = (Wave(1, Use("load", 0, "load"), Use("store", 0, "store")),)


def least_cycles(names: tuple[str, ...], loaders: tuple[str, ...], work: Work, machine: Machine) -> tuple[int, ...]:
    """Of each schedule with its loader: its own bound, or if that is more, what computing takes if nothing has to come.

    The second is for attention. Predictions without loads are the greatest of several straight lines in the number of
    steps, so that each step more takes as long as the second one at least.
    """
    found = {bound: bound(work, machine) for bound in set(_bounds_of(names))}
    least = tuple([found[bound] for bound in _bounds_of(names)])
    if not _serve_online(names):
        return least
    paces = _paces(names, loaders, changed(work, name="", waves=IN_PLACE, steps=1, latency_cycles=0), machine)
    tiles, more = work.tiles, work.steps - 1
    around = machine.kernel_ramp_cycles + machine.kernel_drain_cycles
    computing = [around + tiles * min([first + more * step for first, step in pace]) for pace in paces]
    return tuple(map(max, least, computing))


@lru_cache(maxsize=256)
def _bounds_of(names: tuple[str, ...]) -> tuple[Bound, ...]:
    """Schedules of a kind have one bound together, which need be found only once."""
    return tuple(bound_of(schedule_named(name)) for name in names)


@lru_cache(maxsize=256)
def _serve_online(names: tuple[str, ...]) -> bool:
    return all(serves_online(schedule_named(name)) for name in names)


def reading_cycles(hbm_bytes: int, machine: Machine) -> int:
    """What any product takes whose tiles read so much of the HBM: the busiest SM has its share of it, at its rate."""
    reading = hbm_bytes * machine.clock_hz // machine.hbm_achieved_bytes_per_s + arrival_cycles(machine, hbm_bytes)
    return machine.kernel_ramp_cycles + reading + machine.kernel_drain_cycles


@lru_cache(maxsize=1024)
def _paces(
    names: tuple[str, ...], loaders: tuple[str, ...], alone: Work, machine: Machine
) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Of each schedule, by warpgroups: cycles of a tile's first step without what a kernel has once, and of one more.

    Memo of tiles that ask the same: those of all contexts, batches and parts.
    """
    found = []
    once = machine.kernel_ramp_cycles + machine.kernel_drain_cycles + machine.tile_start_cycles
    for name, loader in zip(names, loaders, strict=True):
        schedule, paces = schedule_named(name), []
        for warpgroups in schedule.WARPGROUPS:
            choice = Choice(2, loader, warpgroups)
            one, two = (schedule.predict(changed(alone, steps=steps), choice, machine) for steps in (1, 2))
            paces.append((max(0, one - once), two - one))
        found.append(tuple(paces))
    return tuple(found)
