"""What a script uses: its ops with how often each runs, and what each does to channels, barriers, units and handles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from patterns.pipeline.hashed import made_directly
from patterns.pipeline.program import Program
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


@made_directly
@dataclass(frozen=True)
class Use:
    """One thing an op does to a channel, barrier, unit or handle: `amount` of it each time."""

    verb: str
    name: str
    reader: int = 0
    amount: int = 1


def flat_ops(script: Iterable[Op], times: int = 1) -> Iterator[tuple[Op, int]]:
    """Every op of a script, loops included and each before its body, with how often it runs."""
    for op in script:
        yield op, times
        if isinstance(op, Loop):
            yield from flat_ops(op.body, times * op.count)


def counters(program: Program) -> tuple[tuple[str, int], ...]:
    """The `counts` of all ops, each times how often the op runs, sorted by name."""
    total: Counter[str] = Counter()
    for role in program.roles:
        for op, times in flat_ops(role.script):
            if times and isinstance(op, Run | Start):
                for name, amount in op.counts:
                    total[name] += amount * times
    return tuple(sorted(total.items()))


def busy_cycles(program: Program) -> tuple[tuple[str, int], ...]:
    """Cycles of work by unit, as listed, summed over lanes."""
    total: Counter[str] = Counter()
    for role in program.roles:
        for op, times in flat_ops(role.script):
            if isinstance(op, Run | Start):
                total[op.unit] += op.cycles * times
    return tuple((unit.name, total[unit.name]) for unit in program.units)


_EFFECT_USE: dict[type[Effect], Callable[..., Use]] = {
    Fill: lambda effect: Use("fill", effect.channel, amount=effect.num_bytes),
    Free: lambda effect: Use("release", effect.channel, effect.reader),
    Signal: lambda effect: Use("arrive", effect.barrier),
}


def _uses_of_start(op: Start) -> Iterator[Use]:
    yield Use("unit", op.unit)
    if op.handle:
        yield Use("start", op.handle)
    yield from (_EFFECT_USE[type(effect)](effect) for effect in op.then)


USES: dict[type[Op], Callable[..., Iterable[Use]]] = {
    Run: lambda op: (Use("unit", op.unit),),
    Start: _uses_of_start,
    Finish: lambda op: (Use("finish", op.handle),),
    Acquire: lambda op: (Use("acquire", op.channel),),
    Commit: lambda op: (Use("fill", op.channel, amount=op.num_bytes),),
    Wait: lambda op: (Use("wait", op.channel, op.reader),),
    Release: lambda op: (Use("release", op.channel, op.reader),),
    Arrive: lambda op: (Use("arrive", op.barrier),),
    Await: lambda op: (Use("await", op.barrier, amount=op.count),),
    Loop: lambda op: (),
}
