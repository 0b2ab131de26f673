"""Random Programs that use everything: some never become periodic, some deadlock, all are well formed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from patterns.pipeline.program import UNIT_CLASSES, Barrier, Channel, Program, Role, Unit
from patterns.pipeline.script import (
    Acquire,
    Arrive,
    Await,
    Commit,
    Effect,
    Fill,
    Finish,
    Free,
    Loop,
    Op,
    Release,
    Run,
    Signal,
    Start,
    Wait,
)


@dataclass
class Draft:
    """A role to be: its trips, and what it makes and reads in each."""

    trips: int
    makes: list[Channel] = field(default_factory=list)
    reads: list[tuple[Channel, int]] = field(default_factory=list)
    arrives: list[str] = field(default_factory=list)
    awaits: list[tuple[str, int]] = field(default_factory=list)


def random_program(rng: Random, most_trips: int = 60) -> Program:
    """A well-formed Program: tiles made, filled, read and released are equal. It may deadlock."""
    units = tuple(
        Unit(f"u{i}", rng.choice(UNIT_CLASSES), rng.choice((1, 1, 1, 2, 3))) for i in range(rng.randint(1, 3))
    )
    trips = rng.randint(1, most_trips)
    drafts = [Draft(trips) for _ in range(rng.randint(2, 4))]
    channels = [_connect(rng, drafts, index) for index in range(rng.randint(1, 4))]
    barriers = [_meet(rng, drafts, index) for index in range(rng.choice((0, 0, 0, 1, 2)))]
    roles: list[Role] = []
    for index, draft in enumerate(drafts):
        for part, share in enumerate(_shares(rng, draft)):
            roles.append(Role(f"r{index}{'abc'[part]}", _script(rng, draft, share, units)))
    rng.shuffle(roles)
    return Program("random", units, tuple(channels), tuple(roles), tuple(barriers))


def _connect(rng: Random, drafts: list[Draft], index: int) -> Channel:
    readers = rng.choice((1, 1, 1, 2))
    channel = Channel(f"c{index}", rng.choice((1, 1, 2, 2, 3, 4, 8)), readers, rng.choice((0, 0, 0, 3, 5)))
    first = rng.randrange(len(drafts) - 1)
    if rng.random() < 0.03:  # a channel back: it deadlocks
        drafts[-1].makes.append(channel)
        for reader in range(readers):
            drafts[0].reads.append((channel, reader))
        return channel
    drafts[first].makes.append(channel)
    for reader in range(readers):
        drafts[rng.randint(first + 1, len(drafts) - 1)].reads.append((channel, reader))
    return channel


def _meet(rng: Random, drafts: list[Draft], index: int) -> Barrier:
    one, other = rng.sample(range(len(drafts)), 2)
    if rng.random() < 0.95:
        one, other = min(one, other), max(one, other)
    times = rng.choice((1, 1, 2))
    drafts[one].arrives += [f"b{index}"] * times
    drafts[other].awaits.append((f"b{index}", times))
    return Barrier(f"b{index}")


def _shares(rng: Random, draft: Draft) -> list[int]:
    """How the trips of a draft are shared between roles: mostly one role does all."""
    if draft.awaits or draft.trips < 2 or rng.random() < 0.7:
        return [draft.trips]
    first = rng.randint(1, draft.trips - 1) if rng.random() < 0.5 else draft.trips // 2
    return [first, draft.trips - first]


def _script(rng: Random, draft: Draft, trips: int, units: tuple[Unit, ...]) -> tuple[Op, ...]:
    before, body, after, used = _body(rng, draft, trips, units)
    between = (_run(rng, units),) if rng.random() < 0.3 else ()
    return (*before, *_loops(rng, trips - used, lambda: body, between), *after)


def _loops(rng: Random, trips: int, body: Callable[[], tuple[Op, ...]], between: tuple[Op, ...]) -> tuple[Op, ...]:
    """`body` trips times, as one loop, nested loops, or several in a row."""
    shape = rng.random()
    if trips > 3 and shape < 0.35:
        outer = rng.randint(2, max(2, trips // 2))
        inner, rest = divmod(trips, outer)
        return (Loop(outer, (*_loops(rng, inner, body, between), *between)), Loop(rest, body()))
    if trips > 3 and shape < 0.5:
        first = rng.randint(1, trips - 1)
        return (*_loops(rng, first, body, between), *between, *_loops(rng, trips - first, body, between))
    if trips % 2 == 0 and shape < 0.6:
        return (Loop(trips // 2, body() + body()),)
    return (Loop(trips, body()),)


def _body(
    rng: Random, draft: Draft, trips: int, units: tuple[Unit, ...]
) -> tuple[tuple[Op, ...], tuple[Op, ...], tuple[Op, ...], int]:
    """Ops before, in and after the loop, and how many trips those outside stand for."""
    ahead = trips > 1 and all(c.slots > 1 for c, _ in draft.reads) and rng.random() < 0.2  # tiles are held one longer
    waits: list[Op] = [Wait(channel.name, reader) for channel, reader in draft.reads]
    waits += [Await(name, times) for name, times in draft.awaits]
    rng.shuffle(waits)
    work = [_work(rng, units) for _ in range(rng.choice((0, 1, 1, 2, 3)))]
    frees: list[Op] = []
    effects: list[Effect] = []
    for channel, reader in draft.reads:
        if rng.random() < 0.3:
            effects.append(Free(channel.name, reader))
        else:
            frees.append(Release(channel.name, reader))
    for name in draft.arrives:
        if rng.random() < 0.4:
            effects.append(Signal(name))
        else:
            frees.append(Arrive(name))
    made = _makes(rng, draft, units)
    if effects:
        frees.append(_start(rng, units, tuple(effects)))
    rng.shuffle(frees)
    trip = _interleave(rng, [waits + work + frees, made]) if rng.random() < 0.5 else waits + work + made + frees
    if not ahead or draft.awaits or draft.arrives or draft.makes:
        return (), _handles(rng, trip), (), 0
    return tuple(waits), tuple(waits + work + frees), tuple(frees), 1


def _makes(rng: Random, draft: Draft, units: tuple[Unit, ...]) -> list[Op]:
    whole = [c for c in draft.makes if not c.slot_bytes]
    ops: list[Op] = []
    if len(whole) > 1 and rng.random() < 0.5:  # multicast
        return [
            *(Acquire(c.name) for c in draft.makes),
            _start(rng, units, tuple(Fill(c.name) for c in draft.makes)),
        ]
    for channel in draft.makes:
        ops.append(Acquire(channel.name))
        if channel.slot_bytes and rng.random() < 0.7:
            first = rng.randint(1, channel.slot_bytes - 1)
            ops.append(_start(rng, units, (Fill(channel.name, first),)))
            ops.append(_start(rng, units, (Fill(channel.name, channel.slot_bytes - first),)))
        elif rng.random() < 0.5:
            ops.append(_start(rng, units, (Fill(channel.name),)))
        else:
            ops += [_run(rng, units), Commit(channel.name)]
    return ops


def _interleave(rng: Random, lists: list[list[Op]]) -> list[Op]:
    """One list in which each keeps its order."""
    left = [list(ops) for ops in lists if ops]
    merged: list[Op] = []
    while left:
        chosen = rng.choice(left)
        merged.append(chosen.pop(0))
        left = [ops for ops in left if ops]
    return merged


def _handles(rng: Random, trip: list[Op]) -> tuple[Op, ...]:
    """Some Starts get a handle that a Finish waits for, later in the trip or in the next."""
    ops: list[Op] = []
    due: list[Op] = []
    for op in trip:
        if isinstance(op, Start) and rng.random() < 0.4:
            handle = rng.choice("hg")
            op = Start(op.unit, op.cycles, op.latency, op.then, handle, op.label, op.counts)
            due.append(Finish(handle))
        ops.append(op)
        if due and rng.random() < 0.4:
            ops.append(due.pop(0))
    return (*ops, *due)


def _cycles(rng: Random) -> int:
    return rng.choice((0, 1, 1, 2, 3, 4, 5, 7, 10, 13))


def _run(rng: Random, units: tuple[Unit, ...]) -> Run:
    return Run(rng.choice(units).name, _cycles(rng), rng.choice(("", "x", "y")), (("flops", rng.randint(1, 3)),))


def _start(rng: Random, units: tuple[Unit, ...], then: tuple[Effect, ...]) -> Start:
    latency = rng.choice((0, 0, 1, 2, 5, 9, 30, 90))
    return Start(rng.choice(units).name, _cycles(rng), latency, then, label=rng.choice(("", "s")))


def _work(rng: Random, units: tuple[Unit, ...]) -> Op:
    return _run(rng, units) if rng.random() < 0.7 else _start(rng, units, ())


def random_nest(rng: Random) -> Program:
    """A ring whose producer and consumer have loops of other shapes, and periods of several tiles: windows nest."""
    tiles_per_trip, inner, outer = rng.randint(1, 4), rng.randint(10, 40), rng.randint(4, 12)
    tiles = tiles_per_trip * inner * outer
    makes = [_ring_make(rng) for _ in range(tiles_per_trip)]
    uses = [_ring_use(rng) for _ in range(tiles_per_trip)]
    producer: tuple[Op, ...] = (Loop(tiles // tiles_per_trip, sum(makes, ())),)
    if rng.random() < 0.5:
        producer = (Run("x", rng.randint(0, 50)), Loop(tiles, makes[0]))
    pause = Run(rng.choice("xy"), rng.randint(1, 40))
    consumer = (Loop(outer, (Loop(inner, sum(uses, ())), pause)),)
    return Program(
        "nest",
        (Unit("x", "memory"), Unit("y", "matrix")),
        (Channel("a", rng.randint(1, 6)),),
        (Role("p", producer), Role("c", consumer)),
    )


def _ring_make(rng: Random) -> tuple[Op, ...]:
    return (Acquire("a"), Run("x", rng.randint(1, 9)), Commit("a"))


def _ring_use(rng: Random) -> tuple[Op, ...]:
    return (Wait("a"), Run("y", rng.randint(1, 9)), Release("a"))
