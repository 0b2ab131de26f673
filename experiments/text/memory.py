"""What moves off the chip and why, and what lies in the memories, as tables of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.text.page import Part
from experiments.text.quantity import bytes_text
from experiments.text.table import Column, Table

if TYPE_CHECKING:
    from patterns.plan import Moved, Plan


def memory_parts(plan: Plan) -> list[Part]:
    """Nothing for a plan that does not say what lies where."""
    if not plan.rooms:
        return []
    return [
        f"Off-chip bytes of one run on one {plan.machine} by reason (by tensor: --stage memory)",
        reasons_table(plan),
        f"What lies in the memories of one {plan.machine}",
        rooms_table(plan),
    ]


def reasons_table(plan: Plan) -> Table:
    """One row a reason and memory, those with most bytes first."""
    found: dict[tuple[str, str], list[Moved]] = {}
    for moved in plan.moved:
        found.setdefault((moved.reason, moved.level), []).append(moved)
    whole = sum(moved.num_bytes for moved in plan.moved)
    summed = [(*key, len(mine), sum(moved.num_bytes for moved in mine)) for key, mine in found.items()]
    rows = tuple(
        (reason, level.upper(), f"{tensors:,}", bytes_text(amount), f"{amount / whole:.1%}")
        for reason, level, tensors, amount in sorted(summed, key=lambda one: -one[-1])
    )
    left = (Column("reason", right=False), Column("memory", right=False))
    return Table((*left, Column("tensors"), Column("bytes"), Column("share")), rows)


def rooms_table(plan: Plan) -> Table:
    """One row a memory: by what it is held, at its fullest."""
    uses = list(dict.fromkeys(use for room in plan.rooms for use, _ in room.held))
    columns = (Column("memory", right=False), *(Column(use.replace(" ", "\n")) for use in uses), Column("taken"))
    rows = tuple(
        (
            room.level.upper(),
            *(bytes_text(dict(room.held)[use]) if use in dict(room.held) else "-" for use in uses),
            bytes_text(room.taken_bytes),
            bytes_text(room.num_bytes),
            f"{room.taken_bytes / room.num_bytes:.1%}",
        )
        for room in plan.rooms
    )
    return Table((*columns, Column("of"), Column("full")), rows)
