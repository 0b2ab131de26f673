"""What a Program cannot beat, read off its text: loops are multiplied out, nothing is simulated."""

from __future__ import annotations

from dataclasses import dataclass

from patterns.pipeline.program import Program, Role, Unit
from patterns.pipeline.script import Run
from patterns.pipeline.uses import busy_cycles, counters, flat_ops


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
    return busy_cycles(program)


def run_cycles(role: Role) -> int:
    """Cycles that a role itself spends in its Run ops, one after another."""
    return sum(op.cycles * times for op, times in flat_ops(role.script) if isinstance(op, Run))


def counters_of(program: Program) -> tuple[tuple[str, int], ...]:
    """The ops' counts added up over the whole run, sorted by name."""
    return counters(program)
