"""What a simulated Program did, and when: spans, repeated windows, and folds over them.

Time is *stepped* cycles: the periods that the simulator jumped over are cut out, so the cost of a Timeline does not
grow with trip counts. A Window says that the stepped interval [start, end) happened `extra` more times right after
itself. Windows nest or are disjoint; weights multiply. Anything that is an integral over time is exact: integrate
over stepped time with the weight of each moment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Span:
    """One use of a unit, in stepped cycles.

    ready: the role asked. start, end: the unit was held [start, end). usable: end of its latency (>= end).
    cause: index of the span that this one waited for last (its unit's earlier holder, the producer of its tile, the
    reader that freed its slot, the role's own op before it); -1 for none.
    """

    role: str
    label: str
    unit: str
    ready: int
    start: int
    end: int
    usable: int
    cause: int = -1


@dataclass(frozen=True)
class Window:
    """Stepped [start, end) happened `extra` more times."""

    start: int
    end: int
    extra: int


@dataclass(frozen=True)
class Stall:
    """Cycles that a role waited at ops of one sort ('acquire a', 'wait b', 'await turn', 'finish h', 'unit tc')."""

    role: str
    what: str
    cycles: int


@dataclass(frozen=True)
class Timeline:
    """One run of a Program. All totals are of the whole run, jumped periods included.

    spans: in order of start, then of listing; () if simulated without spans. stalls: sorted by role and what.
    counters: the ops' counts added up. steps: ops the simulator executed (not those it jumped over).
    """

    total_cycles: int
    stepped_cycles: int
    windows: tuple[Window, ...]
    spans: tuple[Span, ...]
    busy: tuple[tuple[str, int], ...]
    stalls: tuple[Stall, ...]
    counters: tuple[tuple[str, int], ...]
    steps: int

    @cached_property
    def busy_cycles(self) -> Mapping[str, int]:
        """Busy cycles by unit (summed over its lanes)."""
        return dict(self.busy)
