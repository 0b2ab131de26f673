"""Who sets the pace of the launches: the host that issues calls, or the device that runs them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.text.quantity import time_text
from experiments.text.table import Column, Table

if TYPE_CHECKING:
    from patterns.report import Launching, Report

NOTE = (
    "Launching: the host runs ahead of the device, so a launch costs time only where the device waits for it (the"
    " first call's, and wherever the queue is empty)"
)


def launching_table(reports: Sequence[Report], rules: tuple[int, ...]) -> Table:
    """One row a machine and mode: what the host spends on launches, what of it shows, and who sets the pace."""
    columns = (
        Column("machine", right=False),
        Column("mode", right=False),
        Column("launching"),
        Column("exposed"),
        Column("hidden"),
        Column("queue", right=False),
    )
    return Table(columns, tuple((r.machine, r.mode, *cells(r.launching)) for r in reports), rules, keys=2)


def cells(launching: Launching) -> tuple[str, ...]:
    """Times and the word for who sets the pace."""
    hidden_ps = max(0, launching.launching_ps - launching.exposed_ps)
    return (*map(time_or_dash, (launching.launching_ps, launching.exposed_ps, hidden_ps)), pace(launching))


def time_or_dash(amount_ps: int) -> str:
    """A time, '-' for none."""
    return time_text(amount_ps) if amount_ps else "-"


def pace(launching: Launching) -> str:
    """'host bound' or 'device bound'."""
    return "host bound" if launching.host_bound else "device bound"


def launching_line(launching: Launching, mode: str) -> str:
    """One sentence about a plan's launches."""
    host, exposed = time_text(launching.launching_ps), time_text(launching.exposed_ps)
    return f"Launch queue ({mode}): {pace(launching)}; launching takes {host}, the device waits for {exposed} of it"
