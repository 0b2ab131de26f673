"""Streams that run ahead: each is filled once an execution, as if all were gone through whenever memory rests."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdu_model.ahead import Part, Streams


def gone_through(parts: list[Part], there: list[float], executions: int, number: int, idle: float) -> None:
    """All streams in the order in which they are needed next, each as far as it may hold more."""
    order = [*range(number, len(parts)), *(range(number) if executions > 1 else ())]
    for other in order:
        brought = min(idle, parts[other].ahead - there[other])
        there[other] += brought
        idle -= brought


@settings(max_examples=100, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 3))
def test_memory_that_rests_fills_what_is_needed_next(random: Random, executions: int) -> None:
    parts = [_part(random) for _ in range(random.randint(1, 8))]
    streams, there = Streams(parts, executions), [0.0] * len(parts)
    for execution in range(executions):
        for number, part in enumerate([*parts, None]):
            if executions == 1 and part is None:
                break  # nothing comes after the last part of the last execution
            idle = float(random.randint(0, 60))
            streams.fill(execution, number, idle)
            gone_through(parts, there, executions, number, idle)
            assert streams.there == pytest.approx(there)
            if part is not None and part.moved:
                streams.there[number] = there[number] = 0.0


def _part(random: Random) -> Part:
    moved = random.choice((0, random.randint(1, 40)))
    return Part((), 10, 0, 0, moved, random.randint(0, moved))
