"""What a schedule is: a file in schedules/ with these names. The file's name is the schedule's."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Literal, Protocol, cast

from gpu_model.loader import loader_named, loaders_there
from gpu_model.machine import Machine
from gpu_model.work import Choice, CtaDemand, Work
from patterns.errors import UnknownName, UserError
from patterns.pipeline.program import Program
from patterns.plugin import load_module, modules

SCHEDULES = "gpu_model.schedules"
AUTO = "auto"
STREAMING = "streaming"
# More levels than bytes pass by any loader.
LONGEST = 9
# A schedule that tries no more slots than a double buffer has, wherever there is room for many, is no ring.
DOUBLE_BUFFER, MANY = 2, 64
# mm: one matrix product. online: products with a reduce between them that is rescaled part by part. collective: a sum
# over several GPUs. stream: others.
Job = Literal["mm", "online", "stream", "collective"]
Bound = Callable[[Work, Machine], int]


class Schedule(Protocol):
    """SERVES: the sorts of kernels it can run. AUTO: whether it is tried where none is named.

    NEEDS: features of the machine that it cannot do without. LOADERS: those it can use, the usual one first.
    WARPGROUPS: numbers of computing warpgroups that it can have, fewest first. Where a file has CLUSTERS (sizes of a
    cluster of CTAs) or DMA_WARPS (warps that only load), these can be fixed too; the first is the usual one.
    LONGEST_FIRST: of tiles of different lengths the longest are given out first. matrix_reach(work, choice,
    machine): the share of the tensor core's rate that its products reach while they run. SPLITS_SHARED: each CTA of
    a cluster keeps only its part of the operand that they have in common. BY_TASKS: it needs the nodes of a kernel
    one by one. POLYNOMIAL_OPS: vector ops of a special function that it does not leave to the special units.
    IDLE: options of the kernels it runs that it has no use for.
    RESIDENT: its CTAs end with their tiles, and an SM runs as many as fit (see resident). told(work, choice, machine):
    what it tells of how it runs a kernel. partial_tiles(work, choice, machine): sums that pass from SM to SM, where it
    shares out the steps of tiles. phases(members, machine): of a sum over GPUs (see exchange). at_least(work, machine):
    cycles that it predicts at least, however it is set; unless it is RESIDENT, with more slots it predicts no more. So
    tiles and slots that cannot be chosen need no prediction.
    """

    SERVES: tuple[Job, ...]
    NEEDS: tuple[str, ...]
    AUTO: bool
    LOADERS: tuple[str, ...]
    WARPGROUPS: tuple[int, ...]

    def slot_counts(self, most: int) -> tuple[int, ...]:
        """Slot counts to try, at most `most`, fewest first."""

    def demand(self, work: Work, choice: Choice, machine: Machine) -> CtaDemand:
        """What one CTA needs of an SM."""

    def predict(self, work: Work, choice: Choice, machine: Machine) -> int:
        """Cycles in closed form, near what the simulation gives: by these, choices are made."""

    def program(self, work: Work, choice: Choice, machine: Machine) -> Program:
        """The roles, channels and units of one SM."""


def schedule_names() -> tuple[str, ...]:
    """Every schedule there is, and `auto`, which takes the one that is predicted to be fastest."""
    return (AUTO, *modules(SCHEDULES))


@cache
def schedule_named(name: str) -> Schedule:
    """The schedule `name`. Raises UnknownName."""
    return cast(Schedule, load_module(SCHEDULES, name, "schedule"))


def cluster_sizes(schedule: Schedule) -> tuple[int, ...]:
    """Sizes of clusters that a schedule can run in, the usual one first; 1 for most."""
    return cast(tuple[int, ...], getattr(schedule, "CLUSTERS", (1,)))


def splits_shared(schedule: Schedule) -> bool:
    """Whether the CTAs of a cluster keep parts of their common operand."""
    return bool(getattr(schedule, "SPLITS_SHARED", False))


def by_tasks(schedule: Schedule) -> bool:
    """Whether a schedule gives the nodes of a kernel to warps."""
    return bool(getattr(schedule, "BY_TASKS", False))


def is_resident(schedule: Schedule) -> bool:
    """Whether CTAs end with their tiles, so that an SM runs as many as fit; one of a persistent kernel."""
    return bool(getattr(schedule, "RESIDENT", False))


def has_bound(schedule: Schedule) -> bool:
    """Whether a schedule tells what it takes at least, by an `at_least` of its file."""
    return hasattr(schedule, "at_least")


@lru_cache(maxsize=256)
def all_bound(names: tuple[str, ...]) -> bool:
    """Whether all of these schedules have a bound."""
    return all(has_bound(schedule_named(name)) for name in names)


def serves_online(schedule: Schedule) -> bool:
    """Whether it is a schedule of attention kernels."""
    return "online" in schedule.SERVES


def bound_of(schedule: Schedule) -> Bound:
    """What tells the cycles that a schedule predicts at least: a single one where it has no bound."""
    return cast(Bound, getattr(schedule, "at_least", _at_least_one))


def _at_least_one(work: Work, machine: Machine) -> int:
    return 1


def gains_by_slots(schedule: Schedule) -> bool:
    """Whether more slots never take longer. Where CTAs end with their tiles, fewer may fit beside each other then."""
    return has_bound(schedule) and not is_resident(schedule)


def told_of(name: str, work: Work, choice: Choice, machine: Machine) -> str:
    """What a schedule tells of how it runs a kernel, by a `told` of its file; '' for most."""
    told = getattr(schedule_named(name), "told", None)
    return cast(str, told(work, choice, machine)) if told else ""


def dma_warp_counts(schedule: Schedule) -> tuple[int, ...]:
    """Numbers of warps that only load, the usual one first; 1 for most."""
    return cast(tuple[int, ...], getattr(schedule, "DMA_WARPS", (1,)))


def adds_up(name: str) -> bool:
    """Whether a schedule shares out the steps of tiles and adds the parts up itself."""
    return hasattr(schedule_named(name), "partial_tiles")


def partial_tiles(name: str, work: Work, choice: Choice, machine: Machine) -> int:
    """How often the sums of a tile pass from one SM to another on the whole GPU, where a schedule shares its steps out.

    Such a schedule has `partial_tiles`; it adds parts up itself, so no other kernel does.
    """
    count = getattr(schedule_named(name), "partial_tiles", None)
    return cast(int, count(work, choice, machine)) if count else 0


@lru_cache(maxsize=64)
def polynomial_ops(machine: Machine) -> int:
    """Fewest vector ops by which a schedule that the machine runs computes a special function; 0 where none does."""
    known = (name for name in modules(SCHEDULES) if runs(name, machine))
    found = (getattr(schedule_named(name), "POLYNOMIAL_OPS", 0) for name in known)
    return min((ops for ops in found if ops), default=0)


def longest_first(schedule: Schedule) -> bool:
    """Whether tiles of different lengths are given out longest first, and not in the order of the grid."""
    return cast(bool, getattr(schedule, "LONGEST_FIRST", True))


def matrix_reach(schedule: Schedule, work: Work, choice: Choice, machine: Machine) -> float:
    """Share of the tensor core's rate that products reach while they run: 1 unless a schedule says less."""
    reach = getattr(schedule, "matrix_reach", None)
    return float(reach(work, choice, machine)) if reach else 1.0


def slots_known(schedule: Schedule) -> tuple[int, ...]:
    """Slot counts that a schedule can have, fewest first; () for one with a ring, which runs with any that fit."""
    counts = {slots for most in (*range(1, DOUBLE_BUFFER + 1), MANY) for slots in schedule.slot_counts(most)}
    return () if max(counts) > DOUBLE_BUFFER else tuple(sorted(counts))


def is_idle(name: str, option: str) -> bool:
    """Whether a schedule has no use for an option that others of its jobs have."""
    return option in getattr(schedule_named(name), "IDLE", ())


def fixed_of(name: str, option: str, asked: int | None, known: tuple[int, ...]) -> int:
    """What the user fixed of an option that few schedules have, else the usual value. Raises UserError."""
    if asked is not None and asked not in known:
        only = f"{', '.join(map(str, known[:-1]))} or {known[-1]}" if len(known) > 1 else str(known[0])
        raise UserError(f"schedule {name} has {option} {only}, not {asked}")
    return asked or known[0]


def check_schedule(name: str, machine: Machine) -> None:
    """Raises UnknownName, and UserError with the nearest schedule that works where the machine lacks what it needs."""
    if name not in schedule_names():
        raise UnknownName("schedule", name, schedule_names())
    if name == AUTO:
        return
    if not runs(name, machine):
        raise UserError(f"schedule {name} needs {_missing(name, machine)}{_instead(name, machine)}")


def _missing(name: str, machine: Machine) -> str:
    """Features that a schedule needs and the machine lacks, or else loaders of which it has none."""
    schedule = schedule_named(name)
    missing = [feature for feature in schedule.NEEDS if feature not in machine.features]
    if missing:
        return f"{', '.join(missing)}, which {machine.name} lacks"
    return f"one of the loaders {', '.join(schedule.LOADERS)}, and {machine.name} has none of them"


def _instead(name: str, machine: Machine) -> str:
    """The schedule of the same jobs that the machine has, and that needs most of what this one does and least else."""
    wanted = schedule_named(name)
    needed = {*wanted.NEEDS, wanted.LOADERS[0]}
    able = [
        other
        for other in modules(SCHEDULES)
        if runs(other, machine) and set(wanted.SERVES) & set(schedule_named(other).SERVES)
    ]
    if not able:
        return ""

    def nearness(other: str) -> tuple[int, int]:
        schedule = schedule_named(other)
        needs = {*schedule.NEEDS, loaders_there(schedule.LOADERS, machine)[0]}
        return len(needs & needed), -len(needs - needed)

    nearest = max(able, key=nearness)
    return f"; {nearest} works there"


def runs(name: str, machine: Machine) -> bool:
    """Whether a machine has the features that a schedule needs, and one of its loaders."""
    schedule = schedule_named(name)
    return set(schedule.NEEDS) <= set(machine.features) and bool(loaders_there(schedule.LOADERS, machine))


@lru_cache(maxsize=256)
def tried(name: str, job: Job, machine: Machine) -> tuple[str, ...]:
    """Schedules that a kernel is tried with: the named one, or all that `auto` tries."""
    if name != AUTO:
        return (name,)
    every = (other for other in modules(SCHEDULES) if job in schedule_named(other).SERVES)
    return tuple(other for other in every if schedule_named(other).AUTO and runs(other, machine))


@lru_cache(maxsize=256)
def detour(name: str, machine: Machine) -> int:
    """Levels that a schedule's bytes pass by its usual loader; LONGEST where the machine lacks that."""
    usual = schedule_named(name).LOADERS[0]
    there = loaders_there((usual,), machine)
    return len(loader_named(usual).THROUGH) if there else LONGEST
