"""What each role does with its time: active, and in every cycle of that either stalled or eligible.

active     from the role's first cycle to the end of its script
eligible   it holds a unit that executes instructions (matrix, vector, special, issue): it issues to it
stalled    it waits: for a slot, a tile, a barrier, something asynchronous, a unit that another role holds; for the
           memory or the network that it itself moves bytes over; for a start, an end, or a barrier to be seen (launch,
           sync)

A role stands for all its warps, which wait together. Parts add up exactly: eligible + stalled = active, and neither
overlaps: a role does one thing at a time. What it started without waiting for is not its time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from patterns.pipeline.program import Program, Role, UnitClass
from patterns.pipeline.script import Run
from patterns.pipeline.timeline import Timeline
from patterns.pipeline.uses import flat_ops

# Units of these classes execute a role's own instructions.
EXECUTING: tuple[UnitClass, ...] = ("matrix", "vector", "special", "issue")


@dataclass(frozen=True)
class RoleStates:
    """Cycles of one role. eligible: by the unit that it issues to. stalled: by what it waits for. Greatest first."""

    role: str
    eligible: tuple[tuple[str, int], ...]
    stalled: tuple[tuple[str, int], ...]

    @property
    def eligible_cycles(self) -> int:
        """Cycles in which it issues."""
        return sum(cycles for _, cycles in self.eligible)

    @property
    def stalled_cycles(self) -> int:
        """Cycles in which it waits."""
        return sum(cycles for _, cycles in self.stalled)

    @property
    def active_cycles(self) -> int:
        """Cycles from its start to its end."""
        return self.eligible_cycles + self.stalled_cycles


def role_states(program: Program, timeline: Timeline) -> tuple[RoleStates, ...]:
    """The states of every role of a run, in listed order. Needs no spans."""
    stalled: dict[str, Counter[str]] = {role.name: Counter() for role in program.roles}
    for stall in timeline.stalls:
        stalled[stall.role][stall.what] += stall.cycles
    return tuple(_states(program, role, stalled[role.name]) for role in program.roles)


def _states(program: Program, role: Role, waited: Counter[str]) -> RoleStates:
    eligible: Counter[str] = Counter()
    for unit, cycles in _held(role).items():
        if program.unit_named[unit].unit_class in EXECUTING:
            eligible[unit] += cycles
        else:
            waited[f"on {unit}"] += cycles
    return RoleStates(role.name, _greatest_first(eligible), _greatest_first(waited))


def _held(role: Role) -> Mapping[str, int]:
    """Cycles that a role holds units itself, by unit."""
    held: Counter[str] = Counter()
    for op, times in flat_ops(role.script):
        if isinstance(op, Run):
            held[op.unit] += op.cycles * times
    return held


def _greatest_first(cycles: Counter[str]) -> tuple[tuple[str, int], ...]:
    found = ((name, amount) for name, amount in cycles.items() if amount)
    return tuple(sorted(found, key=lambda pair: (-pair[1], pair[0])))


def issue_slots(program: Program, timeline: Timeline) -> tuple[int, int]:
    """(held, there): cycles of issue units' lanes that loads and matrix instructions took, and all that there were."""
    issuing = [unit for unit in program.units if unit.unit_class == "issue"]
    held = sum(timeline.busy_cycles[unit.name] for unit in issuing)
    return held, sum(unit.lanes for unit in issuing) * timeline.total_cycles
