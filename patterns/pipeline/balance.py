"""Whether all that is acquired is filled, all that is made is read, all that is held is released, and in that order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from patterns.pipeline.program import Program
from patterns.pipeline.script import Acquire, Loop, Op, Wait
from patterns.pipeline.uses import USES, flat_ops

# What a role has in hand after one verb and no more after the other: a name, and the reader as which it has it.
Hand = tuple[str, str, int]
_HANDS = {"acquire": ("acquire", 1), "fill": ("acquire", -1), "wait": ("wait", 1), "release": ("wait", -1)}
_HANDS |= {"start": ("start", 1), "finish": ("start", -1)}
_BEFORE = {"acquire": "fills {} before it acquires it", "wait": "releases {} before it waits for it"}
_BEFORE |= {"start": "finishes {} before it starts it"}
_LEFT = {"acquire": "acquires more of {} than it fills", "wait": "waits for more tiles of {} than it releases"}


def balance_mistakes(program: Program) -> Iterator[str]:
    """Every inequality, in words."""
    made, read = _tiles(program)
    for channel in program.channels:
        for reader in range(channel.readers):
            if read[channel.name, reader] != made[channel.name]:
                tiles = f"{made[channel.name]:,} tiles are made, {read[channel.name, reader]:,} read by reader {reader}"
                yield f"channel {channel.name!r}: {tiles}"
    slot_bytes = {channel.name: channel.slot_bytes for channel in program.channels}
    for role in program.roles:
        for (verb, name, _), level in _levels(role.script, slot_bytes).items():
            if level.lowest < 0:
                yield f"role {role.name!r} {_BEFORE[verb].format(repr(name))}"
            elif level.change and verb in _LEFT:
                yield f"role {role.name!r} {_LEFT[verb].format(repr(name))}"


def _tiles(program: Program) -> tuple[Counter[str], Counter[tuple[str, int]]]:
    """Tiles made by channel, and read by channel and reader."""
    made: Counter[str] = Counter()
    read: Counter[tuple[str, int]] = Counter()
    for role in program.roles:
        for op, times in flat_ops(role.script):
            if isinstance(op, Acquire):
                made[op.channel] += times
            elif isinstance(op, Wait):
                read[op.channel, op.reader] += times
    return made, read


@dataclass(frozen=True)
class Level:
    """What a role has in hand of one thing: `change` over a stretch of its script, and the lowest on the way."""

    change: int = 0
    lowest: int = 0

    def then(self, later: Level) -> Level:
        """This stretch, then another."""
        return Level(self.change + later.change, min(self.lowest, self.change + later.lowest))

    def times(self, count: int) -> Level:
        """This stretch, `count` times."""
        if not count:
            return Level()
        return Level(self.change * count, self.lowest + min(0, self.change * (count - 1)))


def _levels(script: Iterable[Op], slot_bytes: Mapping[str, int]) -> dict[Hand, Level]:
    """How what a role has in hand changes: bytes of acquired tiles to fill, tiles to release, Starts to finish."""
    levels: dict[Hand, Level] = {}
    for op in script:
        if isinstance(op, Loop):
            body = _levels(op.body, slot_bytes)
            inside: Iterable[tuple[Hand, Level]] = ((hand, level.times(op.count)) for hand, level in body.items())
        else:
            inside = _levels_of_op(op, slot_bytes)
        for hand, level in inside:
            levels[hand] = levels.get(hand, Level()).then(level)
    return levels


def _levels_of_op(op: Op, slot_bytes: Mapping[str, int]) -> Iterator[tuple[Hand, Level]]:
    for use in USES[type(op)](op):
        if use.verb in _HANDS:
            verb, sign = _HANDS[use.verb]
            amount = 1
            if verb == "acquire" and slot_bytes[use.name]:
                whole = use.verb == "acquire" or not use.amount
                amount = slot_bytes[use.name] if whole else use.amount
            yield (verb, use.name, use.reader), Level(sign * amount, min(0, sign * amount))
