"""The Program of a megakernel: one SM runs its tasks of all operators through pages of shared memory.

Four roles. One loads weights, operator after operator, as pages come free: it waits for nobody else. One loads what
operators before have made, when a counter says that all SMs have made it. One computes. One stores, and counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

from gpu_model.exchange import hop_cycles
from gpu_model.machine import Machine
from gpu_model.megakernel.tasks import INPUT_PAGES, Stream, Task, page_slots
from gpu_model.roles import assemble, computing, drain, hand_over, loop, needed, ramp
from gpu_model.work import Use
from patterns.pipeline.program import Barrier, Channel, Program, Role
from patterns.pipeline.script import (
    Acquire,
    Await,
    Commit,
    Fill,
    Finish,
    Op,
    Release,
    Signal,
    Start,
    Wait,
)
from patterns.units import cycles_of_ps

PAGES, INPUTS, RESULTS, DONE, ARRIVED = "pages", "inputs", "results", "done", "arrived"


@dataclass(frozen=True)
class Body:
    """Tasks that are run one after another, `count` times over.

    after: for each task, how many of the body's own tasks must be done before its inputs are there. is_last: nothing
    comes after it, so that nobody waits for its end.
    """

    name: str
    count: int
    tasks: tuple[Task, ...]
    after: tuple[int, ...]
    is_last: bool = False

    @property
    def counted(self) -> int:
        """Tasks whose ends others wait for: all, but of the last execution only those that its own tasks need."""
        return max(self.after, default=0) if self.is_last else len(self.tasks)


def program(name: str, bodies: Sequence[Body], machine: Machine) -> Program:
    """All bodies in order, on one SM. The kernel is launched once, so it starts and ends once."""
    bodies = _parted(bodies)
    loads = ramp(machine) + _each(bodies, lambda task: _weights(task, machine))
    reads = tuple(op for body in bodies for op in loop(body.count, _given(body, machine), body.name))
    computes = _each(bodies, lambda task: _computed(task, machine))
    stores = tuple(op for body in bodies for op in loop(body.count, _stored(body, machine), body.name)) + drain(machine)
    channels = (
        Channel(PAGES, page_slots(machine)),
        Channel(INPUTS, INPUT_PAGES),
        Channel(RESULTS, 2),
    )
    roles = (Role("weights", loads), Role("inputs", reads), Role("compute", computes), Role("store", stores))
    return assemble(name, machine, channels, roles, (Barrier(DONE),))


def _parted(bodies: Sequence[Body]) -> tuple[Body, ...]:
    """The same with the last execution of all by itself."""
    *before, last = bodies
    others = (replace(last, count=last.count - 1),) if last.count > 1 else ()
    return (*before, *others, replace(last, count=1, is_last=True))


def _each(bodies: Sequence[Body], script: Callable[[Task], tuple[Op, ...]]) -> tuple[Op, ...]:
    return tuple(
        op for body in bodies for op in loop(body.count, tuple(o for t in body.tasks for o in script(t)), body.name)
    )


def _weights(task: Task, machine: Machine) -> tuple[Op, ...]:
    return _loads(task.pages, PAGES, task.operator.name, machine) if task.pages else ()


def _loads(stream: Stream, into: str, what: str, machine: Machine) -> tuple[Op, ...]:
    """Pieces one after another, so that others who load wait for one at most; each arrives `latency` later."""
    arriving = Start("issue", machine.tma_issue_cycles, stream.latency_cycles, (Fill(into),), label="issue")
    return loop(stream.pieces, (Acquire(into), stream.load.run(), arriving), what)


def _given(body: Body, machine: Machine) -> tuple[Op, ...]:
    """Each task's inputs, as soon as enough tasks are done; at the end of an execution, when all are."""
    script: list[Op] = []
    taken = 0
    for task, after in zip(body.tasks, body.after, strict=True):
        script += [Await(DONE, after - taken)] if after > taken else []
        taken = max(taken, after)
        script += _loads(task.inputs, INPUTS, task.operator.name, machine) if task.inputs else ()
    if body.counted > taken:
        script.append(Await(DONE, body.counted - taken))
    return tuple(script)


def _computed(task: Task, machine: Machine) -> tuple[Op, ...]:
    """Wait for held inputs, take page after page, sum over GPUs, hand the results on."""
    given = task.inputs.pieces if task.inputs else 0
    channels = (*((INPUTS,) if task.inputs and not task.held else ()), *((PAGES,) if task.pages else ()))
    step = (
        *(Wait(channel) for channel in channels),
        *(hand_over(machine) if channels else ()),
        *computing(task.step, machine),
        *(Release(channel) for channel in channels),
    )
    steps = loop(task.steps // task.ends, step, task.operator.name)
    result = (Acquire(RESULTS), *needed(*task.finish), Commit(RESULTS))
    return (
        *(loop(given, (Wait(INPUTS),)) + hand_over(machine) if task.held and given else ()),
        *loop(task.ends - 1, (*steps, *result), task.operator.name),
        *steps,
        *(loop(given, (Release(INPUTS),)) if task.held else ()),
        *_exchanged(task, machine),
        *result,
    )


def _exchanged(task: Task, machine: Machine) -> Iterator[Op]:
    work = task.operator.work
    for phase in task.operator.phases:
        yield from needed(Use("sync", phase.before_cycles, "barrier"))
        cycles = ceil(work.exchanged.cycles * work.tiles * work.steps * phase.share / phase.rounds)
        send = Start("link", cycles, hop_cycles(phase, machine), handle=ARRIVED, label="send")
        yield from loop(phase.rounds, (send, Finish(ARRIVED)), "rounds")


def _stored(body: Body, machine: Machine) -> tuple[Op, ...]:
    """Each task's results, and after the last of them the counter, which all see, if anybody waits for it."""
    seen = machine.kernel_drain_cycles + cycles_of_ps(machine.grid_sync_ps, machine.clock_hz)
    count = Start("issue", 0, seen, (Signal(DONE),), label="count")
    return tuple(
        op
        for number, task in enumerate(body.tasks)
        for op in (*_left(task), *((count,) if number < body.counted else ()))
    )


def _left(task: Task) -> tuple[Op, ...]:
    """Results to the L2; the HBM gets them later."""
    use = task.written
    written = (Start(use.unit, use.cycles, label=use.label, counts=use.counts),) if use.cycles else ()
    leave = (Wait(RESULTS), *needed(task.store), *written, Release(RESULTS))
    return loop(task.ends, leave, task.operator.name)
