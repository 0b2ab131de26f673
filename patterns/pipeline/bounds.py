"""What a Program cannot beat, read off its text: loops are multiplied out, nothing is simulated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from patterns.pipeline.program import Program, Role, Unit
from patterns.pipeline.script import Loop, Op, Run, Start


@dataclass(frozen=True)
class Bound:
    """No run of the program is shorter than `cycles`; `limiter` is the unit, or the role, that says so."""

    cycles: int
    limiter: str


def lower_bound(program: Program) -> Bound:
    """The greatest of each unit's work / lanes (rounded up) and each role's own Run cycles; units first, as listed."""
    work = dict(work_by_unit(program))
    by_unit = [Bound(-(-work[unit.name] // unit.lanes), unit.name) for unit in program.units]
    by_role = [Bound(run_cycles(role), f"role {role.name}") for role in program.roles]
    return max([*by_unit, *by_role], key=lambda bound: bound.cycles, default=Bound(0, ""))


def limiting_unit(program: Program) -> Unit:
    """The unit with the greatest work / lanes, the first listed of several. The program has a unit."""
    work = dict(work_by_unit(program))
    first = program.units[0]
    for unit in program.units[1:]:
        # Compared crosswise: a quotient would be rounded.
        if work[unit.name] * first.lanes > work[first.name] * unit.lanes:
            first = unit
    return first


def work_by_unit(program: Program) -> tuple[tuple[str, int], ...]:
    """Cycles of work of every unit, summed over its lanes, in listed order."""
    work = dict.fromkeys((unit.name for unit in program.units), 0)
    for role in program.roles:
        for op, times in repeated(role.script):
            if isinstance(op, Run | Start):
                work[op.unit] += op.cycles * times
    return tuple(work.items())


def run_cycles(role: Role) -> int:
    """Cycles that a role itself spends in its Run ops, one after another."""
    return sum(op.cycles * times for op, times in repeated(role.script) if isinstance(op, Run))


def counters_of(program: Program) -> tuple[tuple[str, int], ...]:
    """The ops' counts added up over the whole run, sorted by name."""
    counters: Counter[str] = Counter()
    for role in program.roles:
        for op, times in repeated(role.script):
            if isinstance(op, Run | Start):
                for name, amount in op.counts:
                    counters[name] += amount * times
    return tuple(sorted(counters.items()))


def repeated(script: tuple[Op, ...], times: int = 1) -> Iterator[tuple[Op, int]]:
    """Every op of a script that is not a loop, in order, with how often it is run."""
    for op in script:
        if isinstance(op, Loop):
            yield from repeated(op.body, times * op.count)
        else:
            yield op, times
