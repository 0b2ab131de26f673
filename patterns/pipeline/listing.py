"""A Program as pseudo-code that a person can read: what there is, then one block for each role."""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch

from patterns.pipeline.program import Channel, Program, Role, Unit
from patterns.pipeline.script import (
    Acquire,
    Arrive,
    Await,
    Commit,
    Counts,
    Fill,
    Finish,
    Free,
    Loop,
    Release,
    Run,
    Signal,
    Start,
    Wait,
)

INDENT = "    "


def listing(program: Program) -> str:
    """The program as text, ending in a newline.

    full(c) and empty(c) are the two barriers of a slot of channel c; `start` does not wait, and what stands after
    `then` happens when it is usable; what stands after '#' is only counted.
    """
    lines = [f"program {program.name}", ""]
    lines += _table("unit", [(unit.name, _unit(unit)) for unit in program.units])
    lines += _table("channel", [(channel.name, _channel(channel)) for channel in program.channels])
    lines += _table("barrier", [(barrier.name, "counts arrivals") for barrier in program.barriers])
    for role in program.roles:
        lines += ["", *_role(role)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _table(what: str, rows: list[tuple[str, str]]) -> Iterator[str]:
    """One line for each part of the program, in columns."""
    width = max((len(name) for name, _ in rows), default=0)
    return (f"{what:<8} {name:<{width}}  {text}" for name, text in rows)


def _unit(unit: Unit) -> str:
    return unit.unit_class + (f", {unit.lanes} lanes" if unit.lanes > 1 else "")


def _channel(channel: Channel) -> str:
    slots = _number(channel.slots, "slot") + (f" of {channel.slot_bytes:,} bytes" if channel.slot_bytes else "")
    return slots + (f", {channel.readers} readers" if channel.readers > 1 else "")


def _role(role: Role) -> Iterator[str]:
    yield f"role {role.name}"
    for op in role.script:
        yield from (INDENT + line for line in lines_of(op))


@singledispatch
def lines_of(op: object) -> list[str]:
    """The lines of one op; those of a loop's body are indented."""
    raise TypeError(f"not an op: {op!r}")


@lines_of.register
def _(op: Loop) -> list[str]:
    head = f"repeat {_number(op.count, 'time')}" + (f"  # {op.label}" if op.label else "")
    return [head, *(INDENT + line for inner in op.body for line in lines_of(inner))]


@lines_of.register
def _(op: Run) -> list[str]:
    return [f"{op.label or 'run'} on {op.unit}, {_number(op.cycles, 'cycle')}{_counts(op.counts)}"]


@lines_of.register
def _(op: Start) -> list[str]:
    handle = f" as {op.handle}" if op.handle else ""
    takes = [_number(op.cycles, "cycle")] if op.cycles or not op.latency else []
    takes += (
        [f"{op.latency:,} of latency" if takes else f"{_number(op.latency, 'cycle')} of latency"] if op.latency else []
    )
    line = f"start {op.label or 'work'}{handle} on {op.unit}, {' and '.join(takes)}"
    effects = [effect_text(effect) for effect in op.then]
    line += f", then {', '.join(effects)}" if effects else ""
    return [line + _counts(op.counts)]


@lines_of.register
def _(op: Finish) -> list[str]:
    return [f"finish {op.handle}"]


@lines_of.register
def _(op: Acquire) -> list[str]:
    return [f"acquire empty({op.channel})"]


@lines_of.register
def _(op: Commit) -> list[str]:
    return [f"arrive full({op.channel}){_bytes(op.num_bytes)}"]


@lines_of.register
def _(op: Wait) -> list[str]:
    return [f"wait full({op.channel}){_reader(op.reader)}"]


@lines_of.register
def _(op: Release) -> list[str]:
    return [f"arrive empty({op.channel}){_reader(op.reader)}"]


@lines_of.register
def _(op: Arrive) -> list[str]:
    return [f"arrive {op.barrier}"]


@lines_of.register
def _(op: Await) -> list[str]:
    return [f"await {op.barrier}" + (f", {op.count} arrivals" if op.count > 1 else "")]


@singledispatch
def effect_text(effect: object) -> str:
    """What happens when an asynchronous op is usable."""
    raise TypeError(f"not an effect: {effect!r}")


@effect_text.register
def _(effect: Fill) -> str:
    return f"arrive full({effect.channel}){_bytes(effect.num_bytes)}"


@effect_text.register
def _(effect: Free) -> str:
    return f"arrive empty({effect.channel}){_reader(effect.reader)}"


@effect_text.register
def _(effect: Signal) -> str:
    return f"arrive {effect.barrier}"


def _number(amount: int, what: str) -> str:
    return f"{amount:,} {what}" + ("" if amount == 1 else "s")


def _bytes(num_bytes: int) -> str:
    return f" with {num_bytes:,} bytes" if num_bytes else ""


def _reader(reader: int) -> str:
    return f" as reader {reader}" if reader else ""


def _counts(counts: Counts) -> str:
    return "  # " + ", ".join(f"{name} {amount:,}" for name, amount in counts) if counts else ""
