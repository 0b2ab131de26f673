"""Programs whose times follow from their data: who hands tiles to whom, which units have one user, which are shared.

In such a Program every channel has one role that fills it and one for each reader, so a role's time is the latest of
what it takes, whatever order roles are looked at in. Only units that several roles ask need the order of time.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from patterns.pipeline.program import Program
from patterns.pipeline.script import Finish, Op, Run, Start
from patterns.pipeline.uses import USES, Use, flat_ops

# One end of a channel: of the role that fills it ("", n, -1), or of a reader.
Key = tuple[str, int]
ALONE, SHARED, PASSED = "alone", "shared", "passed"


@dataclass(frozen=True)
class Wiring:
    """Who is at the ends of a Program's channels, by the index of its role.

    sorts: of each unit whether one role has it alone, several share it, or nothing holds it (PASSED: all work on it
    takes no cycles). started: units that one role has alone and does not always wait for. finished: handles that
    something waits for, with the index of their role.
    """

    maker: dict[str, int]
    reader: dict[Key, int]
    sorts: dict[str, str]
    started: frozenset[str]
    finished: frozenset[tuple[int, str]]


def wiring(program: Program) -> Wiring | None:
    """The wiring of a Program, None where its times do not follow from its data alone."""
    if program.barriers or any(channel.slot_bytes for channel in program.channels):
        return None
    flat = [(role, op) for role, one in enumerate(program.roles) for op, _ in flat_ops(one.script)]
    uses = [tuple(USES[type(op)](op)) for _, op in flat]
    makers: defaultdict[str, set[int]] = defaultdict(set)
    readers: defaultdict[Key, set[int]] = defaultdict(set)
    for (role, _), some in zip(flat, uses, strict=True):
        for use in some:
            if use.verb in ("acquire", "fill"):
                makers[use.name].add(role)
            elif use.verb in ("wait", "release"):
                readers[use.name, use.reader].add(role)
    ends = [makers[channel.name] for channel in program.channels]
    ends += [readers[channel.name, reader] for channel in program.channels for reader in range(channel.readers)]
    sorts = _sorts(program, flat)
    if any(len(roles) != 1 for roles in ends) or sorts is None or not _in_order(flat, uses, sorts):
        return None
    return Wiring(
        {name: min(roles) for name, roles in makers.items()},
        {key: min(roles) for key, roles in readers.items()},
        sorts,
        frozenset(op.unit for _, op in flat if isinstance(op, Start) and sorts[op.unit] == ALONE),
        frozenset((role, op.handle) for role, op in flat if isinstance(op, Finish)),
    )


def _sorts(program: Program, flat: list[tuple[int, Op]]) -> dict[str, str] | None:
    """The sort of each unit; None if work that takes no time at all makes the order within a cycle matter."""
    users: defaultdict[str, set[int]] = defaultdict(set)
    held: Counter[str] = Counter()
    works = [(role, op) for role, op in flat if isinstance(op, Run | Start)]
    for role, op in works:
        users[op.unit].add(role)
        held[op.unit] += op.cycles
    sorts = {}
    for unit in program.units:
        alone = len(users[unit.name]) < 2 and unit.lanes == 1
        sorts[unit.name] = ALONE if alone else SHARED if held[unit.name] else PASSED
    for _, op in works:
        late = op.latency if isinstance(op, Start) and sorts[op.unit] != SHARED else 0
        if not op.cycles + late:
            return None
    return sorts


def _in_order(flat: list[tuple[int, Op]], uses: list[tuple[Use, ...]], sorts: dict[str, str]) -> bool:
    """Whether all that happens to a channel's end, or to a handle, is known in the order in which it is asked for.

    What a shared unit does is known later than what is asked for after it elsewhere.
    """
    places: defaultdict[tuple[object, ...], set[str]] = defaultdict(set)
    for (role, op), some in zip(flat, uses, strict=True):
        place = op.unit if isinstance(op, Start) and sorts[op.unit] == SHARED else ""
        for use in some:
            if use.verb in ("fill", "release"):
                places[use.verb, use.name, use.reader].add(place)
            elif use.verb == "start":
                places[role, use.name].add(place)
    return all(len(found) == 1 for found in places.values())
