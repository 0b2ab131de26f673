"""Folds over a Timeline: stepped time and real time tell the same."""

from __future__ import annotations

from itertools import islice
from random import Random

import pytest

from patterns.errors import Deadlock
from patterns.pipeline.causes import chain
from patterns.pipeline.program import Channel, Program, Role, Unit
from patterns.pipeline.script import Acquire, Commit, Loop, Release, Run, Wait
from patterns.pipeline.simulate import simulate
from patterns.pipeline.timeline import Span, Timeline, Window, real_cycle, real_spans, segments
from tests.pipeline.random_programs import random_program

NESTED = Timeline(100, 20, (Window(2, 12, 3), Window(4, 6, 5), Window(8, 9, 1)), (), (), (), (), 0)


def nested_program(outer: int, inner: int) -> Program:
    """A consumer with a pause after each inner loop."""
    make, use = (Acquire("a"), Run("x", 5), Commit("a")), (Wait("a"), Run("y", 7), Release("a"))
    roles = (Role("p", (Loop(outer * inner, make),)), Role("c", (Loop(outer, (Loop(inner, use), Run("y", 11))),)))
    return Program("nested", (Unit("x", "memory"), Unit("y", "matrix")), (Channel("a", 4),), roles)


def test_segments_are_cut_where_weights_change() -> None:
    assert segments(NESTED) == (
        (0, 2, 1),
        (2, 4, 4),
        (4, 6, 24),
        (6, 8, 4),
        (8, 9, 8),
        (9, 12, 4),
        (12, 20, 1),
    )


def test_windows_that_begin_or_end_together() -> None:
    timeline = Timeline(0, 10, (Window(2, 8, 1), Window(2, 4, 2), Window(6, 8, 4)), (), (), (), (), 0)
    assert segments(timeline) == ((0, 2, 1), (2, 4, 6), (4, 6, 2), (6, 8, 10), (8, 10, 1))


@pytest.mark.parametrize(
    ("stepped", "real"), [(0, 0), (2, 2), (5, 5), (6, 16), (8, 18), (9, 20), (11, 22), (12, 86), (20, 94)]
)
def test_real_cycles(stepped: int, real: int) -> None:
    # One pass of the outer window takes 10 + 5 * 2 + 1 = 21 cycles, and there are four.
    assert real_cycle(NESTED, stepped) == real


def timelines(seeds: range) -> list[Timeline]:
    """Runs of random Programs that have windows."""
    found = [simulate(nested_program(30, 20))]
    for seed in seeds:
        try:
            found.append(simulate(random_program(Random(seed), 300)))
        except Deadlock:
            continue
    return [timeline for timeline in found if timeline.windows]


@pytest.mark.parametrize("timeline", timelines(range(40)))
def test_weighted_time_is_real_time(timeline: Timeline) -> None:
    pieces = segments(timeline)
    assert sum((end - start) * weight for start, end, weight in pieces) == timeline.total_cycles
    assert real_cycle(timeline, timeline.stepped_cycles) == timeline.total_cycles
    busy = dict.fromkeys(dict(timeline.busy), 0)
    for span in timeline.spans:
        for start, end, weight in pieces:
            busy[span.unit] += max(0, min(end, span.end) - max(start, span.start)) * weight
    assert busy == timeline.busy_cycles


@pytest.mark.parametrize("timeline", timelines(range(40)))
def test_a_stretch_of_real_spans_is_cut_out_of_all(timeline: Timeline) -> None:
    every = list(real_spans(timeline))
    assert every == sorted(every, key=lambda span: span.start)
    total = timeline.total_cycles
    for begin, end in ((0, total // 7), (total // 3, total // 2), (total - 20, None), (total // 2, total // 2 + 1)):
        wanted = [s for s in every if (s.usable > begin or s.start >= begin) and (end is None or s.start < end)]
        assert list(real_spans(timeline, begin, end)) == wanted


def test_real_spans_far_out_are_reached_at_once() -> None:
    timeline = simulate(nested_program(10**6, 10**6))
    middle = timeline.total_cycles // 2
    spans = list(islice(real_spans(timeline, middle), 5))
    assert all(span.usable > middle and span.start < middle + 40 for span in spans)
    # 10^12 tiles are loaded and used; each outer trip has a pause.
    last = list(real_spans(timeline, timeline.total_cycles - 1))
    assert [span.end for span in last] == [timeline.total_cycles]
    assert last[0].cause == 2 * 10**12 + 10**6 - 2


@pytest.mark.parametrize("seed", range(60))
def test_causes_are_tight(seed: int) -> None:
    try:
        timeline = simulate(random_program(Random(seed)), jump=False)
    except Deadlock:
        return
    for index, span in enumerate(timeline.spans):
        if span.cause < 0:
            assert span.start == 0
        else:
            cause = timeline.spans[span.cause]
            assert span.cause < index
            assert span.start in (cause.end, cause.usable)


def test_what_each_span_waits_for() -> None:
    timeline = simulate(nested_program(1, 3), jump=False)
    short = [(span.role, span.start, span.cause) for span in timeline.spans]
    assert short == [
        ("p", 0, -1),
        ("p", 5, 0),  # its own load before
        ("c", 5, 0),  # the tile
        ("p", 10, 1),
        ("c", 12, 2),  # its own work before, longer than the load
        ("c", 19, 4),
        ("c", 26, 5),
    ]
    assert [span.start for span in chain(timeline, 6)] == [26, 19, 12, 5, 0]


def test_the_holder_of_a_unit_is_the_cause() -> None:
    roles = (Role("a", (Run("u", 3),)), Role("b", (Run("v", 1), Run("u", 2))))
    timeline = simulate(Program("held", (Unit("u", "vector"), Unit("v", "vector")), (), roles))
    assert timeline.spans[2] == Span("b", "", "u", 1, 3, 5, 5, cause=0)
