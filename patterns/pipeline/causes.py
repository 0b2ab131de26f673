"""Spans as a run records them, and the chain of causes behind a span.

A cause is tight: it ends, or becomes usable, in just the cycle in which its effect starts. So a chain of causes
covers the time from a span back to cycle 0 without a hole.
"""

from __future__ import annotations

from collections.abc import Iterator

from patterns.pipeline.program import Program
from patterns.pipeline.state import Work
from patterns.pipeline.timeline import Span, Timeline

# Work, when its role asked, when it started, cause.
Record = tuple[Work, int, int, int]


def make_spans(program: Program, works: list[Work], records: list[Record]) -> tuple[Span, ...]:
    """The spans of a run, in the order in which units took the work."""
    roles = [role.name for role in program.roles]
    units = [unit.name for unit in program.units]
    heads = [(roles[work.role], work.label, units[work.unit.index]) for work in works]
    return tuple(
        [
            Span(*heads[work.index], ready, start, start + work.cycles, start + work.cycles + work.latency, cause)
            for work, ready, start, cause in records
        ]
    )


def chain(timeline: Timeline, index: int) -> Iterator[Span]:
    """A span, what it waited for last, what that waited for, and so on to the start of the run."""
    while index >= 0:
        span = timeline.spans[index]
        yield span
        index = span.cause
