"""A run with jumps is the run without them, to the last span; and its cost does not grow with trip counts."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patterns.errors import Deadlock
from patterns.pipeline.program import Barrier, Channel, Program, Role, Unit
from patterns.pipeline.script import (
    Acquire,
    Arrive,
    Await,
    Commit,
    Finish,
    Free,
    Loop,
    Op,
    Release,
    Run,
    Start,
    Wait,
    copy,
)
from patterns.pipeline.simulate import simulate
from patterns.pipeline.timeline import Timeline, real_spans
from tests.pipeline.random_programs import random_nest, random_program


def run(program: Program, *, spans: bool = True, jump: bool = True) -> Timeline | str:
    """The timeline, or the message of the deadlock."""
    try:
        return simulate(program, spans=spans, jump=jump)
    except Deadlock as error:
        return str(error)


def totals(result: Timeline | str) -> object:
    """All that is not spans."""
    if isinstance(result, str):
        return result
    return result.total_cycles, result.busy, result.stalls, result.counters


def same_with_jumps(program: Program) -> int:
    """Asserts that jumps change nothing; how many windows there were."""
    jumped, stepped, plain = run(program), run(program, jump=False), run(program, spans=False)
    assert totals(jumped) == totals(stepped) == totals(plain)
    if isinstance(jumped, str) or isinstance(stepped, str):
        return 0
    assert tuple(real_spans(jumped)) == stepped.spans
    return len(jumped.windows)


@pytest.mark.parametrize("start", range(0, 144, 24))
def test_many_programs(start: int) -> None:
    windows = [same_with_jumps(random_program(Random(seed), 300)) for seed in range(start, start + 24)]
    assert sum(1 for count in windows if count) >= 5


@pytest.mark.parametrize("seed", [320, 343, 397, 749])
def test_programs_that_simpler_rules_get_wrong(seed: int) -> None:
    # In 320 something in flight is older than two periods; in the others a role's line is full of other work.
    same_with_jumps(random_program(Random(seed), 200))


@pytest.mark.parametrize("start", range(0, 40, 10))
def test_nested_windows(start: int) -> None:
    nested = 0
    for seed in range(start, start + 10):
        program = random_nest(Random(seed))
        same_with_jumps(program)
        windows = simulate(program).windows
        pairs = [(one, other) for one in windows for other in windows if one is not other]
        assert not any(one.start < other.start < one.end < other.end for one, other in pairs)
        nested += any(one.start <= other.start and other.end <= one.end for one, other in pairs)
    assert nested >= 5


@settings(max_examples=30, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(10, 200))
def test_any_program(rng: Random, trips: int) -> None:
    same_with_jumps(random_program(rng, trips))


def program(*roles: tuple[Op, ...], slots: int = 4, readers: int = 1, lanes: int = 1) -> Program:
    """Units x and y, channels a and b, a barrier."""
    return Program(
        "p",
        (Unit("x", "memory", lanes), Unit("y", "matrix")),
        (Channel("a", slots, readers), Channel("b", slots)),
        tuple(Role(f"r{index}", script) for index, script in enumerate(roles)),
        (Barrier("bar"),),
    )


MAKE = (Acquire("a"), Run("x", 5), Commit("a"))
USE = (Wait("a"), Run("y", 7), Release("a"))
PASS = (Wait("a"), Acquire("b"), Run("x", 3), Commit("b"), Release("a"))
BEGIN = Start("y", 2, 9, handle="h")
END = (Wait("b"), Run("y", 4), Release("b"))

STEADY = {
    "ring": program((Loop(500, MAKE),), (Loop(500, USE),)),
    "one slot": program((Loop(500, MAKE),), (Loop(500, USE),), slots=1),
    "nested": program((Loop(600, MAKE),), (Loop(20, (Loop(30, USE), Run("y", 11))),)),
    "nested thrice": program((Loop(1200, MAKE),), (Loop(8, (Loop(10, (Loop(15, USE), Run("y", 3))), Run("y", 2))),)),
    "mismatched": program((Loop(40, (Loop(15, MAKE), Run("x", 9))),), (Loop(24, (Loop(25, USE), Run("x", 2))),)),
    "contested unit": program((Loop(300, MAKE),), (Loop(300, PASS),), (Loop(300, END),)),
    "two readers": program(
        (Loop(400, MAKE),), (Loop(400, USE),), (Loop(400, (Wait("a", 1), Run("x", 2), Release("a", 1))),), readers=2
    ),
    "shared reader": program((Loop(400, MAKE),), (Loop(200, USE),), (Loop(200, USE),)),
    "lanes": program((Loop(400, MAKE),), (Loop(400, PASS),), (Loop(400, END),), lanes=3),
    "long latency": program((Loop(3000, (Acquire("a"), copy("x", 2, 90, into="a"))),), (Loop(3000, USE),), slots=64),
    "latency of nothing": program((Loop(20000, (Run("x", 3), Start("y", 1, 200))),)),
    "freed later": program((Loop(400, MAKE),), (Loop(400, (Wait("a"), Start("y", 3, 50, (Free("a"),)))),), slots=16),
    "handles": program(
        (Start("y", 2, 9, handle="h"), Loop(400, (Start("y", 2, 9, handle="h"), Run("x", 1), Finish("h"))))
    ),
    "no cycles": program((Loop(400, (Acquire("a"), Run("x", 0), Commit("a"), Run("x", 3))),), (Loop(400, USE),)),
    "barrier": program((Loop(400, (Run("x", 3), Arrive("bar"))),), (Loop(200, (Await("bar", 2), Run("y", 5))),)),
    "barrier once": program((Loop(400, (Run("x", 3), Arrive("bar"))),), (Await("bar"), Loop(300, (Run("y", 5),)))),
    "finished before": program((Loop(50, (Run("x", 3),)), Loop(400, (Run("y", 2),))), (Loop(60, (Run("x", 7),)),)),
}


UNSTEADY = {
    "a line that grows": program((Loop(500, (Start("y", 5), Run("x", 2))),)),
    "starts that run ahead": program(
        (Loop(300, (BEGIN, BEGIN, Run("x", 8), Finish("h"))), Loop(300, (Finish("h"), Run("x", 1))))
    ),
    "arrivals that pile up": program(
        (Loop(400, (Run("x", 3), Arrive("bar"))),), (Loop(200, (Await("bar"), Run("y", 5))), Await("bar", 200))
    ),
}


@pytest.mark.parametrize("name", UNSTEADY)
def test_what_grows_is_not_steady(name: str) -> None:
    same_with_jumps(UNSTEADY[name])


@pytest.mark.parametrize("name", STEADY)
def test_what_follows_a_window_begins_as_it_did(name: str) -> None:
    timeline = simulate(STEADY[name])
    for window in timeline.windows:
        cycles = window.end - window.start
        if any(w is not window and w.end > window.start and w.start < window.end + cycles for w in timeline.windows):
            continue
        again = [s.start for s in timeline.spans if window.end < s.start <= window.end + cycles]
        assert again == [s.start + cycles for s in timeline.spans if window.start < s.start <= window.end]


@pytest.mark.parametrize("name", STEADY)
def test_steady_programs_are_jumped(name: str) -> None:
    assert same_with_jumps(STEADY[name]) > 0


def scaled(op: Op, by: int) -> Op:
    """The same loops with more trips, in the outermost."""
    return Loop(op.count * by, op.body) if isinstance(op, Loop) else op


@pytest.mark.parametrize("name", STEADY)
def test_the_cost_does_not_grow_with_trips(name: str) -> None:
    small = STEADY[name]
    steps = []
    for by in (50, 100_000):
        roles = tuple(Role(role.name, tuple(scaled(op, by) for op in role.script)) for role in small.roles)
        steps.append(simulate(Program("big", small.units, small.channels, roles, small.barriers)).steps)
    assert steps[1] < 1.5 * steps[0]


def test_nested_loops_jump_at_every_level() -> None:
    big = program((Loop(10**6, MAKE),), (Loop(1000, (Loop(1000, USE), Run("y", 11))),))
    timeline = simulate(big)
    # The consumer is the slower: it stops for 5 cycles, for the first tile.
    assert timeline.total_cycles == 5 + 1000 * (1000 * 7 + 11)
    assert timeline.steps < 1000
    assert any(
        outer.start <= inner.start and inner.end <= outer.end and inner is not outer
        for outer in timeline.windows
        for inner in timeline.windows
    )


def test_a_long_lap_is_met_again_after_few_of_them() -> None:
    # Within a lap the channel fills by 200 tiles and drains again: no two of its 800 boundaries are alike.
    def make(trips: int, cycles: int) -> Loop:
        return Loop(trips, (Acquire("a"), Run("x", cycles), Commit("a")))

    use = Loop(800, (Wait("a"), Run("y", 10), Release("a")))
    laps = program((Loop(1000, (make(400, 5), make(400, 15))),), (Loop(1000, (use,)),), slots=300)
    timeline = simulate(laps)
    assert timeline.windows
    assert timeline.steps < 12 * 2 * 800 * 4
    assert timeline.total_cycles == simulate(laps, spans=False, jump=False).total_cycles


def test_a_role_without_loops_may_be_listed_first() -> None:
    busy = program((Run("x", 1000),), (Loop(10**6, (Run("y", 3),)),))
    assert simulate(busy).steps < 3000


def test_steps_are_all_ops_and_loop_boundaries() -> None:
    # Each trip: three ops and one boundary in each role; each role enters its loop.
    assert simulate(program((Loop(9, MAKE),), (Loop(9, USE),)), jump=False).steps == 9 * 8 + 2


def test_what_never_repeats_is_not_jumped() -> None:
    running_ahead = program((Loop(3000, MAKE),), (Loop(3000, USE),), slots=3000)
    timeline = simulate(running_ahead)
    assert timeline.windows == ()
    assert timeline.total_cycles == 5 + 3000 * 7


def test_a_deadlock_after_many_trips_is_told_alike() -> None:
    stuck = program(
        (Loop(400, MAKE), Wait("b"), Release("b")), (Loop(400, USE), Await("bar"), Acquire("b"), Commit("b"))
    )
    told = run(stuck)
    assert isinstance(told, str)
    assert told == run(stuck, jump=False)
