"""Warp states of a call as text: what every role waits for, and how much of its time it issues."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.text.page import Part
from experiments.text.table import Column, Table
from patterns.pipeline.warp_states import issue_slots, role_states

if TYPE_CHECKING:
    from patterns.pipeline.program import Program
    from patterns.pipeline.timeline import Timeline
    from patterns.pipeline.warp_states import RoleStates

# Reasons that are told of each role.
MOST = 3
LEGEND = (
    "  eligible  it issues to a unit that executes its instructions\n"
    "  stalled   it waits, most of all for what is named"
)


def states_parts(program: Program, timeline: Timeline) -> list[Part]:
    """Active, eligible and stalled cycles of every role, and of the issue slots how many were used."""
    columns = (
        Column("role", right=False),
        Column("active"),
        Column("eligible"),
        Column("stalled"),
        Column("eligible on", right=False),
        Column("stalled for", right=False),
    )
    rows = tuple(row_of(states) for states in role_states(program, timeline))
    held, there = issue_slots(program, timeline)
    slots = f"Of the schedulers, loads and matrix instructions hold {held:,} of {there:,} lane cycles" if there else ""
    return [
        "Warp states of each role, in cycles (eligible + stalled = active):",
        Table(columns, rows),
        LEGEND,
        f"{slots} ({held / there:.1%})" if there else "",
    ]


def row_of(states: RoleStates) -> tuple[str, ...]:
    """The cells of one role."""
    return (
        states.role,
        f"{states.active_cycles:,}",
        share(states.eligible_cycles, states.active_cycles),
        share(states.stalled_cycles, states.active_cycles),
        reasons(states.eligible, states.active_cycles),
        reasons(states.stalled, states.active_cycles),
    )


def share(part: int, whole: int) -> str:
    """A number and its share of another."""
    return f"{part:,} {part / whole:6.1%}" if whole else f"{part:,}"


def reasons(cycles: tuple[tuple[str, int], ...], whole: int) -> str:
    """The greatest few with their shares."""
    return ", ".join(f"{name} {amount / whole:.1%}" for name, amount in cycles[:MOST])
