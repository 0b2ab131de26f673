"""Streams that run ahead: each is filled once an execution, as if all were gone through whenever memory rests."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdu_model.homes import Memory
from rdu_model.machine import Pace
from rdu_model.tiles.ahead import Part, Streams, time_of, unhidden


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


@settings(max_examples=200, deadline=None)
@given(st.randoms(use_true_random=False), st.booleans())
def test_what_is_found_quickly_is_never_more_than_the_time(random: Random, repeated: bool) -> None:
    memory = Memory("hbm", Pace(random.randint(1, 9), random.randint(1, 9)), random.randint(0, 20))
    parts = [_part(random, number) for number in range(random.randint(1, 8))]
    known = unhidden(parts, random.choice((0, 50)), memory)
    took = time_of(parts, known, memory, repeated)
    assert known.cycles() <= took
    # It is no more than what is known of the bytes and of an execution without streams that run ahead.
    assert known.cycles() >= 0.99 * min(known.streamed, known.alone)


def _part(random: Random, number: int = 0) -> Part:
    """A part, which needs some of so many before it."""
    moved, first = random.choice((0, random.randint(1, 40))), random.choice((0, random.randint(1, 20)))
    needs = tuple(sorted(random.sample(range(number), random.randint(0, min(2, number)))))
    if not number:
        first = 0
    return Part(needs, random.randint(1, 40), 0, first, moved, random.randint(0, first + moved))
