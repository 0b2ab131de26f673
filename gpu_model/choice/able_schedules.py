"""Schedules that can do what the user fixed of loader, layout, slots, warpgroups, cluster and warps that load."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from gpu_model.asked import Asked
from gpu_model.choice.applies import WORDS
from gpu_model.loader import loader_named, loaders_there, usable_loaders
from gpu_model.machine import Machine
from gpu_model.options import Options
from gpu_model.schedule import (
    AUTO,
    Schedule,
    cluster_sizes,
    detour,
    dma_warp_counts,
    fixed_of,
    schedule_named,
    slots_known,
    tried,
)
from gpu_model.smem_layout import can_write, check_layout
from patterns.errors import UserError

# What schedules differ in being able to.
FIXABLE = ("loader", "layout", "slots", "warpgroups", "cluster", "dma_warps")


def able_schedules(asked: Asked, machine: Machine) -> tuple[str, ...]:
    """The schedules that a kernel is tried with: the named one, else of those that `auto` tries the ones that can.

    Raises UnknownName, and UserError where none of them can.
    """
    names = tried(asked.schedule if asked.is_named else AUTO, asked.job, machine)
    if asked.is_named:
        return names
    if asked.fixed.loader:
        loader_named(asked.fixed.loader)
    if not names:
        there = ", ".join(machine.features) or "none"
        raise UserError(f"{asked.what}: {machine.name} has no schedule for {WORDS[asked.job]}; its features: {there}")
    can = _able(names, asked.fixed, machine)
    if not can:
        told = ((option, getattr(asked.fixed, option)) for option in FIXABLE)
        fixed = ", ".join(f"{option} {value}" for option, value in told if value)
        raise UserError(f"{asked.what}: none of {', '.join(names)} can have {fixed} on {machine.name}; name a schedule")
    return can if asked.fixed.loader else _by_the_shortest_way(can, machine)


@lru_cache(maxsize=256)
def _able(names: tuple[str, ...], fixed: Options, machine: Machine) -> tuple[str, ...]:
    """Those of the schedules that can do what is fixed."""
    return tuple(name for name in names if _can(fixed, name, machine))


def _by_the_shortest_way(names: tuple[str, ...], machine: Machine) -> tuple[str, ...]:
    """Of these, those whose usual loader takes the fewest levels: libraries use the way that their GPU shortens."""
    shortest = min((detour(name, machine) for name in names), default=0)
    return tuple(name for name in names if detour(name, machine) == shortest)


def _can(fixed: Options, name: str, machine: Machine) -> bool:
    schedule = schedule_named(name)
    loaders = [loader for loader in loaders_there(schedule.LOADERS, machine) if fixed.loader in (None, loader)]
    return any(fixed.layout is None or can_write(loader, fixed.layout) for loader in loaders) and all(
        getattr(fixed, option) in (None, *known) for option, known in _known(schedule).items()
    )


def check_fixed(name: str, fixed: Options) -> None:
    """Raises UserError where a schedule that was named cannot have a number that was fixed, with those that it can."""
    if name != AUTO:
        for option, known in _known(schedule_named(name)).items():
            fixed_of(name, option, getattr(fixed, option), known)


def _known(schedule: Schedule) -> Mapping[str, tuple[int, ...]]:
    """Numbers that a schedule can have, by option; without those of which any that fits will do."""
    known = {
        "slots": slots_known(schedule),
        "warpgroups": schedule.WARPGROUPS,
        "cluster": cluster_sizes(schedule),
        "dma_warps": dma_warp_counts(schedule),
    }
    return {option: values for option, values in known.items() if values}


def loader_of(fixed: Options, name: str, machine: Machine) -> str:
    """The loader of a schedule: the one fixed, else the first there is, that can write the layout if one is fixed.

    Raises UnknownName, and UserError where there is none.
    """
    loaders = usable_loaders(name, schedule_named(name).LOADERS, fixed.loader, machine)
    if fixed.layout is None:
        return loaders[0]
    found = next((loader for loader in loaders if can_write(loader, fixed.layout)), loaders[0])
    check_layout(fixed.layout, found)
    return found
