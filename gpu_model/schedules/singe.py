"""Every warp its own nodes of a kernel, results handed on from warp to warp, as the compiler Singe gives them out.

A thread then holds the constants and values of its warp's nodes only, so that kernels fit whose working set no thread
could hold (Bauer, Treichler, Aiken, PPoPP 2014).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from gpu_model.machine import Machine
from gpu_model.occupancy.limits import WARP, WARPGROUP
from gpu_model.ring_paths import stream_slots
from gpu_model.roles import RING, all_loads, assemble, drain, fed_cycles, hand_over, loading_cycles, loop, needed, ramp
from gpu_model.schedule import Job
from gpu_model.warps.assignment import Assignment, assign_tasks, exchange_cycles, registers_of, side_by_side
from gpu_model.work import Choice, CtaDemand, RoleDemand, Task, Use, Work
from patterns.once import computed_once
from patterns.pipeline.program import Channel, Program, Role
from patterns.pipeline.script import Acquire, Commit, Op, Release, Wait
from patterns.plural import number_of

LOADERS = ("tma", "cp_async", "registers")
SERVES: tuple[Job, ...] = ("stream",)
NEEDS: tuple[str, ...] = ()
AUTO = False
BY_TASKS = True
WARPGROUPS = (1, 2, 3)
WARPS_OF_GROUP = WARPGROUP // WARP
# Results that are handed over, or stored, have room for two steps: one is read while the next is written.
HANDED_SLOTS = 2
slot_counts = stream_slots


def demand(work: Work, choice: Choice, machine: Machine) -> CtaDemand:
    """Registers of the warp that needs most. Where there are barriers in shared memory, named ones are not needed."""
    assigned = assignment_of(work, choice, machine)
    registers = max(assigned.registers(warp) for warp in range(assigned.warps))
    handed = assigned.teams * sum(HANDED_SLOTS * assigned.named[name].result_bytes for name in assigned.handed_over)
    roles = (
        RoleDemand("loading and storing warps", WARPGROUP, machine.registers_beside_accumulators),
        RoleDemand("busiest warp", choice.warpgroups * WARPGROUP, registers),
    )
    smem_bytes = choice.slots * (work.slot_bytes + machine.barrier_bytes) + work.held_bytes + handed
    return CtaDemand(roles, smem_bytes, barriers=assigned.named_barriers)


def predict(work: Work, choice: Choice, machine: Machine) -> int:
    """Fill, then the slowest of loads, the busiest warp or unit, and stores, then what the last tile still needs."""
    assigned = assignment_of(work, choice, machine)
    issue, first, last = loading_cycles(work, choice, machine), work.waves[0].load, work.waves[-1].store
    once, period = assigned.makespan_cycles + machine.barrier_cycles, assigned.period_cycles + machine.barrier_cycles
    steps = work.tiles * work.steps
    held = max(assigned.release_cycles + machine.barrier_cycles, period)
    around = issue + work.latency_cycles + held
    trips = sum(w.tiles * (work.steps * (around + w.load.cycles) + w.stored_on_loads_cycles) for w in work.waves)
    stored = sum(wave.tiles * (wave.store.cycles + machine.barrier_cycles) for wave in work.waves)
    loaded = sum(wave.tiles * work.steps * wave.load.cycles for wave in work.waves)
    arrival = issue + first.cycles + work.latency_cycles
    end = once + last.cycles + machine.barrier_cycles
    stream = max(
        arrival + (steps - 1) * period + end,
        arrival + trips * (steps - 1) // (steps * choice.slots) + end,
        issue + work.latency_cycles + fed_cycles(work, issue) + end,
        arrival + once + stored,
        issue + loaded + stored if first.unit == last.unit else 0,
    )
    return machine.kernel_ramp_cycles + stream + machine.kernel_drain_cycles


def program(work: Work, choice: Choice, machine: Machine) -> Program:
    """A loading role, one role for every warp that has tasks, and a storing role."""
    assigned = assignment_of(work, choice, machine)
    teams = [_Team(work, assigned, number) for number in range(assigned.teams)]
    storing = [name for team in teams for name in team.results]
    stores: tuple[Op, ...] = ()
    for wave in work.waves:
        waits, releases = (tuple(op(name) for name in storing) for op in (Wait, Release))
        stores += loop(wave.tiles, (*waits, *hand_over(machine), *needed(wave.store), *releases), "stores")
    warps = [Role(team.role(warp), team.script(warp)) for team in teams for warp in team.busy]
    channels = [Channel(RING, choice.slots, readers=sum(len(team.loading) for team in teams))]
    for team in teams:
        handed = assigned.handed_over.items()
        channels += [Channel(team.channel(name), HANDED_SLOTS, len(takers)) for name, takers in handed]
        channels += [Channel(name, HANDED_SLOTS) for name in team.results]
    loading = Role("load", ramp(machine) + all_loads(work, machine, choice))
    roles = (loading, *warps, Role("store", stores + drain(machine)))
    made = assemble(work.name, machine, tuple(channels), roles)
    return side_by_side(made, machine)


def told(work: Work, choice: Choice, machine: Machine) -> str:
    """How warps share the nodes, and what that saves in registers."""
    assigned = assignment_of(work, choice, machine)
    most = max(assigned.registers(warp) for warp in range(assigned.warps))
    teams = f"{number_of(assigned.teams, 'team')} of {number_of(assigned.warps, 'warp')}"
    whole = registers_of(work.tasks, machine)
    return f"{teams}; a thread needs {most} registers, with all nodes {whole}"


def assignment_of(work: Work, choice: Choice, machine: Machine) -> Assignment:
    """Which warp of the computing warpgroups runs which node."""
    return _assigned(work.tasks, choice.warpgroups * WARPS_OF_GROUP, machine, work.tiles * work.steps)


@lru_cache(maxsize=64)
def _assigned(tasks: tuple[Task, ...], warps: int, machine: Machine, steps: int) -> Assignment:
    return assign_tasks(tasks, warps, machine, steps)


@dataclass(frozen=True)
class _Team:
    """Scripts of the warps of one team, which has its share of the points."""

    work: Work
    assigned: Assignment
    number: int

    def role(self, warp: int) -> str:
        """The role of one of its warps."""
        return f"warp{self.number * self.assigned.warps + warp}"

    def channel(self, name: str) -> str:
        """The channel by which a task's result is handed over."""
        return f"{name} of team{self.number}" if self.assigned.teams > 1 else name

    @computed_once
    def results(self) -> tuple[str, ...]:
        """The channels of what leaves."""
        return tuple(f"results of {self.role(warp)}" for warp in self.storing)

    def reader(self, warp: int) -> int:
        """As which reader one of its warps sees what a step loads."""
        return self.number * len(self.loading) + self.loading.index(warp)

    @computed_once
    def busy(self) -> tuple[int, ...]:
        """Warps that have tasks."""
        return tuple(warp for warp in range(self.assigned.warps) if self.assigned.of(warp))

    @computed_once
    def loading(self) -> tuple[int, ...]:
        """Warps that read what a step loads; the first one if none does."""
        found = (warp for warp in self.busy if any(t.loads and not t.ends for t in self.assigned.of(warp)))
        return tuple(found) or self.busy[:1]

    @computed_once
    def storing(self) -> tuple[int, ...]:
        """Warps whose results leave."""
        return tuple(warp for warp in self.busy if any(task.stores for task in self.assigned.of(warp)))

    def each_step(self, name: str) -> bool:
        """Whether a result is handed over in every step: some other warp needs it before the tile's end."""
        place = self.assigned.place
        readers = (task for task in self.assigned.tasks if name in task.reads and place[task.name] != place[name])
        return not self.assigned.named[name].ends and any(not task.ends for task in readers)

    def script(self, warp: int) -> tuple[Op, ...]:
        """All tiles of one warp."""
        tile = loop(self.work.steps, self.step(warp), "steps") + self.end(warp)
        return tuple(op for wave in self.work.waves for op in loop(wave.tiles, tile, "tiles"))

    def step(self, warp: int) -> tuple[Op, ...]:
        """One step: wait for what was loaded, run the tasks in order, take and give results on the way."""
        mine = tuple(task for task in self.assigned.of(warp) if not task.ends)
        ops = [*self.seen(warp)] if warp in self.loading else []
        for task in mine:
            ops += self.run(task, mine, steps=True)
        later = [name for name in self.taken(warp, steps=True) if not any(name in task.reads for task in mine)]
        ops += [op for name in later for op in self.take(name, warp)]
        return (*ops, Release(RING, self.reader(warp))) if warp in self.loading else tuple(ops)

    def end(self, warp: int) -> tuple[Op, ...]:
        """The end of a tile: hand over sums, run what comes once a tile, and say that results are there."""
        mine = tuple(task for task in self.assigned.of(warp) if task.ends)
        sums = [t for t in self.assigned.of(warp) if not t.ends and self.given(t.name, steps=False)]
        ops = [op for task in sums for op in self.give(task)]
        for task in mine:
            ops += self.run(task, mine, steps=False)
        if warp not in self.storing:
            return tuple(ops)
        results = self.results[self.storing.index(warp)]
        return (*ops, Acquire(results), Commit(results))

    def run(self, task: Task, mine: tuple[Task, ...], steps: bool) -> tuple[Op, ...]:
        """Take what the task is the first of its warp to need, run it, and give its result to other warps."""
        warp = self.assigned.place[task.name]
        before = {name for other in mine[: mine.index(task)] for name in other.reads}
        new = [name for name in dict.fromkeys(task.reads) if name not in before and name in self.taken(warp, steps)]
        takes = tuple(op for name in new for op in self.take(name, warp))
        whole = next(one.uses for one in self.work.tasks if one.name == task.name)
        number, teams = self.number, self.assigned.teams
        labelled = (replace(use.between(number, number + 1, teams), label=task.name) for use in whole)
        return (*takes, *needed(*labelled), *(self.give(task) if self.given(task.name, steps) else ()))

    def given(self, name: str, steps: bool) -> bool:
        """Whether a result is handed over in a step, or at a tile's end."""
        return name in self.assigned.handed_over and self.each_step(name) == steps

    def taken(self, warp: int, steps: bool) -> tuple[str, ...]:
        """Results of other warps that this one takes in a step, or at a tile's end."""
        handed = self.assigned.handed_over
        return tuple(name for name, takers in handed.items() if warp in takers and self.each_step(name) == steps)

    def give(self, task: Task) -> tuple[Op, ...]:
        """Write a result to shared memory for other warps."""
        write = Use("smem", exchange_cycles(task, self.assigned.machine), f"give {task.name}")
        channel = self.channel(task.name)
        return (Acquire(channel), *hand_over(self.assigned.machine), *needed(write), Commit(channel))

    def take(self, name: str, warp: int) -> tuple[Op, ...]:
        """Read a result of another warp from shared memory."""
        reader = self.assigned.handed_over[name].index(warp)
        read = Use("smem", exchange_cycles(self.assigned.named[name], self.assigned.machine), f"take {name}")
        channel = self.channel(name)
        return (Wait(channel, reader), *hand_over(self.assigned.machine), *needed(read), Release(channel, reader))

    def seen(self, warp: int) -> tuple[Op, ...]:
        """Wait for what a step loads."""
        return (Wait(RING, self.reader(warp)), *hand_over(self.assigned.machine))
