"""Which warp runs which task: as Singe does, so that one step of all tasks is over soon and every thread's registers
hold what its warp needs.

Tasks of different warps hand results over through shared memory at barriers. A list schedule and pipelines of equal
work are made, and the best one is improved task by task; the same tasks always give the same assignment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from gpu_model.machine import Machine
from gpu_model.occupancy.limits import most_registers
from gpu_model.work import Task
from patterns.once import computed_once
from patterns.pipeline.program import Program

# Steps after which the time between two is known well enough to compare assignments.
SEEN_STEPS = 5
# Tries of every task on every warp; assignments of small graphs settle after one or two.
ROUNDS = 4
# Beyond so many pairs of task and warp the list schedule is taken as it is.
MOST_MOVES = 4096
# Warps beside those that compute: one loads, one stores; registers come by the warpgroup.
OTHER_WARPS = 4


@dataclass(frozen=True)
class Assignment:
    """Tasks in an order in which each follows those it reads, and the warp of each: one runs its own in this order.

    `teams` of `warps` each do the same, with their share of the points: tasks are those of one team.
    """

    tasks: tuple[Task, ...]
    warp_of: tuple[int, ...]
    warps: int
    machine: Machine
    teams: int = 1

    @computed_once
    def place(self) -> Mapping[str, int]:
        """Warp by task."""
        return {task.name: warp for task, warp in zip(self.tasks, self.warp_of, strict=True)}

    @computed_once
    def named(self) -> Mapping[str, Task]:
        """Task by name."""
        return {task.name: task for task in self.tasks}

    def of(self, warp: int) -> tuple[Task, ...]:
        """A warp's tasks, in order."""
        return tuple(task for task in self.tasks if self.place[task.name] == warp)

    @computed_once
    def handed_over(self) -> Mapping[str, tuple[int, ...]]:
        """By task whose result other warps need: these warps, first come first."""
        takers: dict[str, dict[int, None]] = {}
        for task in self.tasks:
            for name in task.reads:
                if self.place[name] != self.place[task.name]:
                    takers.setdefault(name, {})[self.place[task.name]] = None
        return {name: tuple(warps) for name, warps in takers.items()}

    def registers(self, warp: int) -> int:
        """Registers of each thread of a warp: constants, a value of everything it reads and makes, and the usual."""
        return registers_of(self.of(warp), self.machine)

    @computed_once
    def excess_registers(self) -> int:
        """Registers that are needed beyond what a thread can have, over all warps."""
        most = most_registers(self.machine, self.teams * self.warps + OTHER_WARPS)
        return sum(max(0, self.registers(warp) - most) for warp in range(self.warps))

    @computed_once
    def named_barriers(self) -> int:
        """Of a CTA: one to begin with, two for each result that is handed over where shared memory has no barriers."""
        return 1 if "cp_async" in self.machine.features else 1 + 2 * len(self.handed_over) * self.teams

    @computed_once
    def spans(self) -> Mapping[str, tuple[int, int]]:
        """Start and end of every task of one step, by name; the end includes handing its result over."""
        return self._step([0] * self.warps)

    def _step(self, free: list[int]) -> dict[str, tuple[int, int]]:
        """One step, each warp beginning when it is `free`, which is then the end of its tasks. Units are not shared."""
        spans: dict[str, tuple[int, int]] = {}
        taken: set[tuple[str, int]] = set()
        for task in self.tasks:
            warp = self.place[task.name]
            for name in task.reads:
                if self.place[name] != warp and (name, warp) not in taken:
                    taken.add((name, warp))
                    free[warp] = max(free[warp], spans[name][1]) + self.take_cycles(self.named[name])
            start = free[warp]
            free[warp] += task.cycles + (self.give_cycles(task) if task.name in self.handed_over else 0)
            spans[task.name] = (start, free[warp])
        return spans

    @computed_once
    def _ends(self) -> tuple[int, ...]:
        """When each of the first steps is over."""
        free = [0] * self.warps
        return tuple(max((end for _, end in self._step(free).values()), default=0) for _ in range(SEEN_STEPS))

    @computed_once
    def release_cycles(self) -> int:
        """From a step's start until no warp needs any more what was loaded for it."""
        last = {self.place[task.name]: task.name for task in self.tasks if not task.ends}
        needed = {self.place[task.name] for task in self.tasks if task.loads}
        return max((self.spans[last[warp]][1] for warp in needed if warp in last), default=0)

    @property
    def makespan_cycles(self) -> int:
        """From the first task's start to the last one's end, results handed over on the way, units free."""
        return self._ends[0]

    def give_cycles(self, task: Task) -> int:
        """Seeing that there is room, and writing a result to shared memory."""
        return self.machine.barrier_cycles + exchange_cycles(task, self.machine)

    def take_cycles(self, task: Task) -> int:
        """Seeing that a result is there, and reading it."""
        return self.machine.barrier_cycles + exchange_cycles(task, self.machine)

    @computed_once
    def period_cycles(self) -> int:
        """From one step to the next: the slowest warp, waits for others included, or the busiest unit."""
        units: dict[str, int] = {}
        for use in (use for task in self.tasks for use in task.uses):
            units[use.unit] = units.get(use.unit, 0) + use.cycles
        for name, takers in self.handed_over.items():
            exchanged = exchange_cycles(self.named[name], self.machine) * (1 + len(takers))
            units["smem"] = units.get("smem", 0) + exchanged
        apart = -(-(self._ends[-1] - self._ends[0]) // (SEEN_STEPS - 1))
        shares = (-(-cycles * self.teams // lanes_of(unit, self.machine)) for unit, cycles in units.items())
        return max(apart, *shares, 0)

    def cost(self, steps: int) -> tuple[int, int]:
        """Registers and named barriers that are missing, then the cycles of so many steps."""
        lacking = self.excess_registers + max(0, self.named_barriers - self.machine.barriers_per_cta)
        return lacking, self.makespan_cycles + (steps - 1) * self.period_cycles


def lanes_of(unit: str, machine: Machine) -> int:
    """Tasks that a unit runs side by side: each sub-partition has its own vector and special units."""
    return machine.sub_partitions if unit in ("vector", "special") else 1


def side_by_side(program: Program, machine: Machine) -> Program:
    """The program with the lanes of its units on which warps run side by side."""
    return replace(
        program,
        units=tuple(replace(unit, lanes=max(unit.lanes, lanes_of(unit.name, machine))) for unit in program.units),
    )


def registers_of(tasks: Iterable[Task], machine: Machine) -> int:
    """Registers of a thread that runs these tasks."""
    constants: dict[str, int] = {}
    values: dict[str, None] = {}
    for task in tasks:
        constants.update(task.constants)
        values.update(dict.fromkeys(task.values))
    return machine.registers_beside_accumulators + sum(constants.values()) + len(values)


def exchange_cycles(task: Task, machine: Machine) -> int:
    """Writing a result to shared memory, or reading it there, rounded up."""
    return -(-task.result_bytes // machine.smem_write_bytes_per_cycle)


def assign_tasks(tasks: Iterable[Task], warps: int, machine: Machine, steps: int = 1) -> Assignment:
    """The assignment found for `steps` steps that follow each other: first one that fits, then a fast one.

    The warps may be teams that share the points: many small ones hand over little, few large ones hold much.
    """
    ordered = _by_rank(tuple(tasks), machine)
    sizes = (size for size in range(1, warps + 1) if warps % size == 0)
    return min((_of_teams(ordered, warps // size, size, machine, steps) for size in sizes), key=lambda a: a.cost(steps))


def _of_teams(tasks: tuple[Task, ...], teams: int, warps: int, machine: Machine, steps: int) -> Assignment:
    share = tuple(shared_out(task, teams) for task in tasks)
    empty = Assignment(share, (0,) * len(tasks), warps, machine, teams)
    starts = (empty, _listed(empty), *(_balanced(empty, stretches) for stretches in range(2, warps + 1)))
    return _improved(min(starts, key=lambda start: start.cost(steps)), steps)


def shared_out(task: Task, teams: int) -> Task:
    """What one of the teams has of a task: its share of the points, and all constants."""
    uses = tuple(use.between(0, 1, teams) for use in task.uses)
    return replace(task, uses=uses, result_bytes=-(-task.result_bytes // teams))


def makespan_bound(tasks: Iterable[Task], warps: int, machine: Machine) -> int:
    """Cycles that no assignment of one step can be under: the longest chain, all work shared out, the busiest unit."""
    ordered = tuple(tasks)
    ends: dict[str, int] = {}
    units: dict[str, int] = {}
    for task in ordered:
        ends[task.name] = task.cycles + max((ends[name] for name in task.reads), default=0)
        for use in task.uses:
            units[use.unit] = units.get(use.unit, 0) + use.cycles
    shares = [-(-cycles // min(warps, lanes_of(unit, machine))) for unit, cycles in units.items()]
    return max(*ends.values(), *shares, -(-sum(task.cycles for task in ordered) // warps), 0)


def _by_rank(tasks: tuple[Task, ...], machine: Machine) -> tuple[Task, ...]:
    """Tasks by the longest chain that follows each, exchanges included, longest first: readers come after makers."""
    from networkx import DiGraph, lexicographical_topological_sort

    graph: DiGraph[str] = DiGraph()
    graph.add_nodes_from(task.name for task in tasks)
    graph.add_edges_from((name, task.name) for task in tasks for name in task.reads)
    position = {task.name: index for index, task in enumerate(tasks)}
    in_order = list(lexicographical_topological_sort(graph, key=position.__getitem__))
    rank: dict[str, int] = {}
    for name in reversed(in_order):
        task = tasks[position[name]]
        exchange = 2 * exchange_cycles(task, machine) + machine.barrier_cycles
        rank[name] = task.cycles + max((exchange + rank[reader] for reader in graph.successors(name)), default=0)
    # A reader's rank may equal its maker's where neither takes any time: then the order of the graph decides.
    places = {name: place for place, name in enumerate(in_order)}
    return tuple(sorted(tasks, key=lambda task: (-rank[task.name], places[task.name])))


def _listed(start: Assignment) -> Assignment:
    """List scheduling: each task goes where it ends first, of the warps whose registers hold it if some do."""
    machine = start.machine
    most = most_registers(machine, start.teams * start.warps + OTHER_WARPS)
    free = [0] * start.warps
    ends: dict[str, int] = {}
    place: dict[str, int] = {}
    held: list[list[Task]] = [[] for _ in free]
    for task in start.tasks:
        ready = [
            max(free[warp], *_arrivals(task, warp, ends, place, start), 0) + task.cycles for warp in range(len(free))
        ]
        lacks = [max(0, registers_of((*held[warp], task), machine) - most) for warp in range(len(free))]
        best = min(range(len(free)), key=lambda warp: (lacks[warp], ready[warp], warp))
        place[task.name], ends[task.name], free[best] = best, ready[best], ready[best]
        held[best].append(task)
    return replace(start, warp_of=tuple(place[task.name] for task in start.tasks))


def _arrivals(
    task: Task, warp: int, ends: Mapping[str, int], place: Mapping[str, int], start: Assignment
) -> Iterator[int]:
    """When what a task reads can be used by a warp."""
    for name in task.reads:
        made = start.named[name]
        yield ends[name] + (0 if place[name] == warp else start.give_cycles(made) + start.take_cycles(made))


def _balanced(start: Assignment, stretches: int) -> Assignment:
    """The order cut into stretches of about equal work, each of one warp: a pipeline."""
    total = sum(task.cycles for task in start.tasks)
    before, warp_of = 0, []
    for task in start.tasks:
        middle = 2 * before + task.cycles
        warp_of.append(min(stretches - 1, middle * stretches // (2 * total)) if total else 0)
        before += task.cycles
    return replace(start, warp_of=tuple(warp_of))


def _improved(best: Assignment, steps: int) -> Assignment:
    """Move one task at a time to another warp, as long as that helps."""
    if len(best.tasks) * best.warps > MOST_MOVES:
        return best
    for _ in range(ROUNDS):
        before = best
        for index in range(len(best.tasks)):
            moves = (_moved(best, index, warp) for warp in range(best.warps) if warp != best.warp_of[index])
            best = min((best, *moves), key=lambda one: one.cost(steps))
        if best is before:
            break
    return best


def _moved(old: Assignment, index: int, warp: int) -> Assignment:
    return replace(old, warp_of=(*old.warp_of[:index], warp, *old.warp_of[index + 1 :]))
