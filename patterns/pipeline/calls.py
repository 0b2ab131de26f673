"""The call level: calls launched by a host and run by a device, as a Program in picoseconds.

The host launches one call after another, at most `queue_depth` ahead of the device. The device runs them in order, one
at a time, with a gap between two. So a launch costs time only where the device waits for it:

    call i starts at max(launch i is done, call i - 1 is done + gap)

Where calls have a prologue, that of call i begins when launch i is done and call i - 1 has started, and call i waits
for its end too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

from patterns.pipeline.program import Barrier, Channel, Program, Role, Unit
from patterns.pipeline.script import Acquire, Arrive, Await, Commit, Loop, Op, Release, Run, Wait

# The device is one unit whatever runs on it: what a call does inside, its own Program says. A collective holds the
# links instead, so that its time can be told from the rest; the device waits for it, so calls never overlap.
DEVICE = "device"
LINK = "link"
HOST = "host"
GAP = "gap"
QUEUE = "queue"
REPLAYED = "replayed"
PROLOGUE = "prologue"
READY = "ready"


@dataclass(frozen=True)
class CallStep:
    """One launch: how long the device runs it, and how often its block is run (steps of a block repeat together)."""

    name: str
    duration_ps: int
    block: str = ""
    count: int = 1
    collective: bool = False


class Launch(Protocol):
    """What starting calls costs, in picoseconds: on the host once and for each call, on the device between two calls.

    queue_depth: launches that the host may be ahead; with 0 it launches a call when the one before is done.
    prologue_ps: on the device for each call, while the one before still runs.
    """

    @property
    def once_ps(self) -> int: ...
    @property
    def host_ps(self) -> int: ...
    @property
    def device_ps(self) -> int: ...
    @property
    def queue_depth(self) -> int: ...
    @property
    def prologue_ps(self) -> int: ...


@dataclass(frozen=True)
class Repeat:
    """Steps that run one after another, `count` times over."""

    steps: tuple[CallStep, ...]
    count: int


def schedule_program(steps: Iterable[CallStep], launch: Launch) -> Program:
    """The call level of a run. Consecutive steps of the same block and count become one loop over all of them.

    Units: 'device', 'link' (runs collectives), 'host' (class launch), 'gap' (class sync: between two calls), and
    'prologue' (class launch) where calls have one.
    """
    repeats = tuple(in_order(steps))
    by_call = launch.host_ps > 0
    host = _launching(repeats, launch) if by_call else _replaying(launch)
    early = launch.prologue_ps > 0
    return Program(
        name="calls",
        units=(
            *(Unit(DEVICE, "matrix"), Unit(LINK, "network"), Unit(HOST, "launch"), Unit(GAP, "sync")),
            *((Unit(PROLOGUE, "launch"),) if early else ()),
        ),
        channels=(
            *((Channel(QUEUE, max(1, launch.queue_depth)),) if by_call else ()),
            *((Channel(READY, 1),) if early else ()),
        ),
        roles=(
            Role(HOST, host),
            *((Role(PROLOGUE, _preparing(repeats, launch)),) if early else ()),
            Role(DEVICE, _running(repeats, launch)),
        ),
        barriers=() if by_call else (Barrier(REPLAYED),),
    )


def in_order(steps: Iterable[CallStep]) -> Iterator[Repeat]:
    """Consecutive steps of one block and count, together; those that never run are left out."""
    for (_, count), group in groupby(steps, key=lambda step: (step.block, step.count)):
        if count:
            yield Repeat(tuple(group), count)


def _launching(repeats: tuple[Repeat, ...], launch: Launch) -> tuple[Op, ...]:
    """The host's script where each call is launched by itself."""
    script: list[Op] = [Run(HOST, launch.once_ps, "start")] if launch.once_ps else []
    for repeat in repeats:
        body: list[Op] = []
        for step in repeat.steps:
            body += [Acquire(QUEUE), Run(HOST, launch.host_ps, f"launch {step.name}"), Commit(QUEUE)]
        script.append(Loop(repeat.count, tuple(body)))
    return tuple(script)


def _replaying(launch: Launch) -> tuple[Op, ...]:
    """The host's script where one launch starts the whole sequence: no queue, so the device's loops are periodic."""
    return (Run(HOST, launch.once_ps, "replay"), Arrive(REPLAYED))


def _preparing(repeats: tuple[Repeat, ...], launch: Launch) -> tuple[Op, ...]:
    """The prologues: each when its call is launched and the call before has started, which frees the only place."""
    script: list[Op] = [] if launch.host_ps else [Await(REPLAYED)]
    for repeat in repeats:
        body: list[Op] = []
        for step in repeat.steps:
            body += [Wait(QUEUE), Release(QUEUE)] if launch.host_ps else []
            body += [Acquire(READY), Run(PROLOGUE, launch.prologue_ps, f"prologue {step.name}"), Commit(READY)]
        script.append(Loop(repeat.count, tuple(body), repeat.steps[0].block))
    return tuple(script)


def _running(repeats: tuple[Repeat, ...], launch: Launch) -> tuple[Op, ...]:
    """The device's script: before every call but the first of all the gap, which passes while a launch is awaited."""
    script: list[Op] = [] if launch.host_ps or launch.prologue_ps else [Await(REPLAYED)]
    for number, repeat in enumerate(repeats):
        body = tuple(op for step in repeat.steps for op in _step(step, launch))
        if number == 0 and launch.device_ps:
            script += body[1:]
            script.append(Loop(repeat.count - 1, body, repeat.steps[0].block))
        else:
            script.append(Loop(repeat.count, body, repeat.steps[0].block))
    return tuple(script)


def _step(step: CallStep, launch: Launch) -> Iterator[Op]:
    """One call on the device. Its place in the queue is free when it starts, or when it is done if there is none."""
    if launch.device_ps:
        yield Run(GAP, launch.device_ps, "gap")
    if launch.prologue_ps:
        yield Wait(READY)
        yield Release(READY)
    elif launch.host_ps:
        yield Wait(QUEUE)
        if launch.queue_depth:
            yield Release(QUEUE)
    yield Run(LINK if step.collective else DEVICE, step.duration_ps, step.name)
    if launch.host_ps and not launch.queue_depth and not launch.prologue_ps:
        yield Release(QUEUE)
