"""What is wrong with a Program before it runs. Every finding is a bug of the code that built the Program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from patterns.pipeline.program import UNIT_CLASSES, Program
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


@dataclass(frozen=True)
class Use:
    """One thing an op does to a channel, barrier, unit or handle: `amount` of it each time."""

    verb: str
    name: str
    reader: int = 0
    amount: int = 1


def check(program: Program) -> None:
    """Raises ValueError with every mistake: names, numbers, tiles that are made, filled, read or freed unequally."""
    mistakes = [*_declarations(program), *_names(program), *_numbers(program)] or [*_balance(program)]
    if mistakes:
        raise ValueError(f"program {program.name!r}: " + "; ".join(mistakes))


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


_USES: dict[type[Op], Callable[..., Iterable[Use]]] = {
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


def _declarations(program: Program) -> Iterator[str]:
    for what, things in (
        ("unit", program.units),
        ("channel", program.channels),
        ("barrier", program.barriers),
        ("role", program.roles),
    ):
        names = Counter(thing.name for thing in things)
        yield from (f"two {what}s are named {name!r}" for name, times in names.items() if times > 1)
    yield from (f"unit {u.name!r} has {u.lanes} lanes" for u in program.units if u.lanes < 1)
    yield from (
        f"unit {u.name!r} is of class {u.unit_class!r}, not of {', '.join(UNIT_CLASSES)}"
        for u in program.units
        if u.unit_class not in UNIT_CLASSES
    )
    for channel in program.channels:
        if channel.slots < 1 or channel.readers < 1 or channel.slot_bytes < 0:
            yield (
                f"channel {channel.name!r} has {channel.slots} slots, {channel.readers} readers "
                f"and {channel.slot_bytes} bytes a slot"
            )


def _names(program: Program) -> Iterator[str]:
    units = {unit.name for unit in program.units}
    barriers = {barrier.name for barrier in program.barriers}
    readers = {channel.name: channel.readers for channel in program.channels}
    for role in program.roles:
        for op, _ in flat_ops(role.script):
            for use in _USES[type(op)](op):
                where = f"role {role.name!r} ({use.verb})"
                if use.verb == "unit" and use.name not in units:
                    yield f"{where}: no unit {use.name!r}"
                elif use.verb in ("arrive", "await") and use.name not in barriers:
                    yield f"{where}: no barrier {use.name!r}"
                elif use.verb in ("acquire", "fill", "wait", "release"):
                    if use.name not in readers:
                        yield f"{where}: no channel {use.name!r}"
                    elif not 0 <= use.reader < readers[use.name]:
                        yield f"{where}: channel {use.name!r} has no reader {use.reader}"


def _numbers(program: Program) -> Iterator[str]:
    for role in program.roles:
        for op, _ in flat_ops(role.script):
            if isinstance(op, Run | Start) and (op.cycles < 0 or getattr(op, "latency", 0) < 0):
                yield f"role {role.name!r}: cycles and latency of {op.label or op.unit!r} are not negative"
            if isinstance(op, Loop | Await) and op.count < 0:
                yield f"role {role.name!r}: a count of {op.count}"
            for use in _USES[type(op)](op):
                if use.amount < 0:
                    yield f"role {role.name!r}: {use.amount} bytes into {use.name!r}"


def _balance(program: Program) -> Iterator[str]:
    tally: Counter[tuple[str, str, str, int]] = Counter()
    need = {channel.name: channel.slot_bytes for channel in program.channels}
    for role in program.roles:
        for op, times in flat_ops(role.script):
            for use in _USES[type(op)](op):
                amount = use.amount
                if use.verb == "fill":
                    amount = (use.amount or need[use.name]) if need[use.name] else 1
                tally[role.name, use.verb, use.name, use.reader] += amount * times
    for channel in program.channels:
        yield from _channel_balance(program, tally, channel.name, channel.readers, channel.slot_bytes or 1)
    for (role_name, verb, name, _), finished in tally.items():
        if verb == "finish" and finished > tally[role_name, "start", name, 0]:
            yield f"role {role_name!r} finishes {name!r} more often than it starts it"


def _channel_balance(
    program: Program, tally: Counter[tuple[str, str, str, int]], name: str, readers: int, slot_bytes: int
) -> Iterator[str]:
    made = sum(tally[role.name, "acquire", name, 0] for role in program.roles)
    for reader in range(readers):
        read = sum(tally[role.name, "wait", name, reader] for role in program.roles)
        if read != made:
            yield f"channel {name!r}: {made} tiles are made, {read} read by reader {reader}"
    for role in program.roles:
        acquired, filled = tally[role.name, "acquire", name, 0], tally[role.name, "fill", name, 0]
        if acquired * slot_bytes != filled:
            due = f"{acquired * slot_bytes} {'bytes' if slot_bytes > 1 else 'fills'}"
            yield f"role {role.name!r} acquires {acquired} tiles of {name!r} ({due}) and fills {filled}"
        for reader in range(readers):
            held, freed = tally[role.name, "wait", name, reader], tally[role.name, "release", name, reader]
            if held != freed:
                yield f"role {role.name!r} waits for {held} tiles of {name!r} as reader {reader} and releases {freed}"
