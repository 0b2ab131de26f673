"""What is wrong with a Program before it runs. Every finding is a bug of the code that built the Program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from patterns.pipeline.balance import balance_mistakes
from patterns.pipeline.program import UNIT_CLASSES, Program
from patterns.pipeline.script import Await, Loop, Run, Start
from patterns.pipeline.uses import USES, flat_ops


def check(program: Program) -> None:
    """Raises ValueError with every mistake: names, numbers, tiles that are made, filled, read or freed unequally."""
    mistakes = [*_declarations(program), *_names(program), *_numbers(program)] or [*balance_mistakes(program)]
    if mistakes:
        raise ValueError(f"program {program.name!r}: " + "; ".join(mistakes))


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
            for use in USES[type(op)](op):
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
            for use in USES[type(op)](op):
                if use.amount < 0:
                    yield f"role {role.name!r}: {use.amount} bytes into {use.name!r}"
