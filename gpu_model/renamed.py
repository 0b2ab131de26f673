"""Scripts under other names: what several CTAs have in common keeps its name, what is each one's own gets another."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from patterns.pipeline.script import (
    Acquire,
    Arrive,
    Await,
    Commit,
    Effect,
    Fill,
    Free,
    Loop,
    Op,
    Release,
    Run,
    Signal,
    Start,
    Wait,
)


def _same(name: str) -> str:
    return name


@dataclass(frozen=True)
class Names:
    """From each unit's, channel's and barrier's name to the new one; by default the same."""

    unit: Callable[[str], str] = _same
    channel: Callable[[str], str] = _same
    barrier: Callable[[str], str] = _same


def renamed(script: Iterable[Op], names: Names) -> tuple[Op, ...]:
    """The script with the units, channels and barriers that its ops name under their new names."""
    return tuple(_op(op, names) for op in script)


def _op(op: Op, names: Names) -> Op:
    match op:
        case Loop():
            return replace(op, body=renamed(op.body, names))
        case Run():
            return replace(op, unit=names.unit(op.unit))
        case Start():
            return replace(op, unit=names.unit(op.unit), then=tuple(_effect(effect, names) for effect in op.then))
        case Acquire() | Commit() | Wait() | Release():
            return replace(op, channel=names.channel(op.channel))
        case Arrive() | Await():
            return replace(op, barrier=names.barrier(op.barrier))
        case _:
            return op


def _effect(effect: Effect, names: Names) -> Effect:
    match effect:
        case Fill() | Free():
            return replace(effect, channel=names.channel(effect.channel))
        case Signal():
            return replace(effect, barrier=names.barrier(effect.barrier))
