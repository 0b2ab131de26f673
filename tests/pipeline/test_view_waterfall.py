"""The waterfall of a Program: the lecture's by hand, random ones with and without the jump."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from patterns.pipeline.bounds import limiting_unit, work_by_unit
from patterns.pipeline.program import Channel, Program, Role, Unit
from patterns.pipeline.script import Acquire, Loop, Release, Run, Wait, copy
from patterns.pipeline.simulate import simulate
from patterns.pipeline.timeline import Span, Timeline, Window
from patterns.pipeline.waterfall import PARTS, explain
from tests.pipeline.view_programs import (
    attention_pingpong,
    multistage,
    persistent,
    random_phases,
    random_program,
    synchronous,
    warp_specialized,
)


def parts(program: Program, timeline: Timeline) -> dict[str, int]:
    found = explain(program, timeline)
    assert tuple(name for name, _ in found) == PARTS
    assert min(cycles for _, cycles in found) >= 0
    assert sum(cycles for _, cycles in found) == timeline.total_cycles
    return {name: cycles for name, cycles in found if cycles}


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        # Between two MMAs stand the issue, the transfer and the latency of the next load.
        (
            synchronous,
            {
                "work": 65536,
                "fill": 1568,
                "drain": 1280,
                "issue": 6300,
                "exposed_memory": 63 * 768,
                "latency": 63 * 700,
            },
        ),
        (warp_specialized, {"work": 65536, "fill": 1478, "drain": 1280}),
        # 61 loads are issued between MMAs, the first of them before the first MMA.
        (lambda: multistage(4), {"work": 65536, "fill": 1568, "drain": 1280, "issue": 6000}),
        (
            lambda: persistent(8, 8),
            {"work": 65536, "fill": 1478, "drain": 1280, "exposed_vector": 7 * 256, "exposed_memory": 7 * 1024},
        ),
        # The tensor core waits for one softmax at first, and then only for what each turn leaves of it.
        (attention_pingpong, {"work": 32768, "exposed_vector": 256 + 256}),
    ],
)
def test_the_lectures_waterfalls(build: Callable[[], Program], expected: dict[str, int]) -> None:
    assert parts(build(), simulate(build())) == expected


def test_two_lanes_work_while_one_is_held() -> None:
    # Lanes busy in [0, 4) and [0, 6), and [9, 12) after a vector unit's [6, 9).
    program = Program(
        "p",
        (Unit("u", "matrix", 2), Unit("v", "vector", 2)),
        (),
        (Role("r", (Run("u", 4),)), Role("s", (Run("u", 6), Run("v", 3), Run("u", 3)))),
    )
    assert parts(program, simulate(program)) == {"work": 9, "exposed_vector": 3}


def test_a_program_of_latency_only_is_filling() -> None:
    script = (Acquire("c"), copy("m", 0, 9, "c"), Wait("c"), Release("c"))
    program = Program("p", (Unit("m", "memory"),), (Channel("c", 1),), (Role("r", script),))
    assert parts(program, simulate(program)) == {"fill": 9}


def test_a_program_of_nothing_takes_no_time() -> None:
    program = Program("p", (Unit("m", "memory"),), (), (Role("r", (Loop(0, (Run("m", 3),)),)),))
    assert parts(program, simulate(program)) == {}


def test_a_gap_in_a_window_counts_as_often_as_the_window() -> None:
    program = Program("p", (Unit("u", "matrix"), Unit("v", "vector")), (), (Role("r", (Run("u", 30), Run("v", 1))),))
    spans = []
    for number in range(4):
        spans.append(Span("r", "", "v", 5 * number, 5 * number, 5 * number + 2, 5 * number + 2, 2 * number - 1))
        spans.append(Span("r", "", "u", 5 * number + 2, 5 * number + 2, 5 * number + 5, 5 * number + 5, 2 * number))
    timeline = Timeline(20 + 9 * 5, 20, (Window(10, 15, 9),), tuple(spans), (), (), (), 0)
    assert parts(program, timeline) == {"work": 13 * 3, "fill": 2, "exposed_vector": 12 * 2}


def test_a_window_without_the_limiting_unit_counts_whole() -> None:
    program = Program("p", (Unit("u", "matrix"), Unit("v", "vector")), (), (Role("r", (Run("u", 3), Run("v", 1))),))
    spans = [Span("r", "", "u", 0, 0, 5, 5)]
    spans += [Span("r", "", "v", 5 + 2 * i, 5 + 2 * i, 6 + 2 * i, 7 + 2 * i, i) for i in range(4)]
    spans += [Span("r", "", "u", 13, 13, 14, 14, 4)]
    timeline = Timeline(14 + 9 * 2, 14, (Window(8, 10, 9),), tuple(spans), (), (), (), 0)
    assert parts(program, timeline) == {"work": 6, "exposed_vector": 4 + 9, "latency": 4 + 9}


def test_what_no_cause_explains_is_latency() -> None:
    program = Program("p", (Unit("u", "matrix"),), (), (Role("r", (Run("u", 2),)),))
    spans = (Span("r", "", "u", 0, 0, 2, 2), Span("r", "", "u", 2, 5, 7, 7))
    assert parts(program, Timeline(7, 7, (), spans, (), (), (), 0)) == {"work": 4, "latency": 3}


def test_a_sum_that_is_off_is_a_bug() -> None:
    program = Program("p", (Unit("u", "matrix"),), (), (Role("r", (Run("u", 2),)),))
    with pytest.raises(AssertionError, match="adds up to 2, not 3"):
        explain(program, Timeline(3, 2, (), (Span("r", "", "u", 0, 0, 2, 2),), (), (), (), 0))


@pytest.mark.parametrize("seed", range(60))
def test_the_jump_changes_nothing_and_the_work_is_the_limiting_units(seed: int) -> None:
    program = random_program(seed)
    jumped, stepwise = simulate(program), simulate(program, jump=False)
    assert parts(program, jumped) == parts(program, stepwise)
    unit = limiting_unit(program)
    if unit.lanes == 1:
        assert parts(program, stepwise).get("work", 0) == dict(work_by_unit(program))[unit.name]


@pytest.mark.parametrize("seed", range(50))
def test_gaps_that_hold_repeats_are_walked_through_each(seed: int) -> None:
    program = random_phases(seed)
    assert parts(program, simulate(program)) == parts(program, simulate(program, jump=False))
