"""The simulator against the rules read aloud (plain_simulator.py), on random Programs that use everything."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patterns.errors import Deadlock
from patterns.pipeline.program import Channel, Program, Role, Unit
from patterns.pipeline.script import Acquire, Commit, Finish, Loop, Op, Release, Run, Start, Wait
from patterns.pipeline.simulate import simulate
from tests.pipeline.plain_simulator import PlainSimulator
from tests.pipeline.random_programs import random_program


def agrees_with_the_rules(program: Program) -> None:
    """Same spans, same stalls, same end, or stuck both."""
    plain = PlainSimulator(program)
    if plain.deadlocked:
        with pytest.raises(Deadlock):
            simulate(program, jump=False)
        return
    timeline = simulate(program, jump=False)
    assert timeline.total_cycles == plain.total
    assert {(stall.role, stall.what): stall.cycles for stall in timeline.stalls} == plain.stalls
    assert sorted(span[:-1] for span in timeline.spans) == sorted(plain.spans)


@pytest.mark.parametrize("start", range(0, 200, 20))
def test_many_programs(start: int) -> None:
    for seed in range(start, start + 20):
        agrees_with_the_rules(random_program(Random(seed)))


@settings(max_examples=80, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 30))
def test_any_program(rng: Random, trips: int) -> None:
    agrees_with_the_rules(random_program(rng, trips))


def order(*scripts: tuple[Op, ...], lanes: int = 1, slots: int = 1) -> list[tuple[str, int, int]]:
    """Role, start and end of every span of a Program with one unit and one channel."""
    roles = tuple(Role(f"r{index}", script) for index, script in enumerate(scripts))
    program = Program("order", (Unit("u", "vector", lanes),), (Channel("c", slots),), roles)
    agrees_with_the_rules(program)
    return [(span.role, span.start, span.end) for span in simulate(program).spans]


def test_ties_go_to_the_role_listed_first() -> None:
    assert order((Run("u", 3),), (Run("u", 2),)) == [("r0", 0, 3), ("r1", 3, 5)]


def test_an_earlier_request_goes_before_a_role_listed_first() -> None:
    early, late = (Run("u", 3), Run("u", 3)), (Run("u", 1),)
    assert order(early, late) == [("r0", 0, 3), ("r1", 3, 4), ("r0", 4, 7)]


def test_later_requests_of_a_role_wait_in_its_own_line() -> None:
    # r0's second request moves to the unit in cycle 0, when the first is taken, and wins the tie; its third in 2.
    starts = (Start("u", 2), Start("u", 2), Start("u", 2))
    assert order(starts, (Run("u", 5),)) == [("r0", 0, 2), ("r0", 2, 4), ("r1", 4, 9), ("r0", 9, 11)]


def test_work_of_no_cycles_queues_like_any_other() -> None:
    assert order((Run("u", 3),), (Run("u", 0),)) == [("r0", 0, 3), ("r1", 3, 3)]


def test_a_unit_is_given_after_all_roles_have_moved() -> None:
    # r0 gets its tile from r1 in the same cycle, and asks in it too: listed first, it is served first.
    maker = (Acquire("c"), Commit("c"), Run("u", 2))
    assert order((Wait("c"), Run("u", 2), Release("c")), maker) == [("r0", 0, 2), ("r1", 2, 4)]


def test_two_lanes_serve_two() -> None:
    assert order((Run("u", 3),), (Run("u", 2),), (Run("u", 2),), lanes=2) == [("r0", 0, 3), ("r1", 0, 2), ("r2", 2, 4)]


def test_a_loop_of_no_trips_does_nothing() -> None:
    assert order((Loop(0, (Run("u", 3),)), Loop(5, ()), Run("u", 1))) == [("r0", 0, 1)]


def test_finish_waits_for_the_oldest_start() -> None:
    script = (Start("u", 2, 10, handle="h"), Start("u", 2, 0, handle="h"), Finish("h"), Run("u", 1), Finish("h"))
    assert order(script) == [("r0", 0, 2), ("r0", 2, 4), ("r0", 12, 13)]


def test_a_program_ends_when_nothing_is_in_flight() -> None:
    program = Program("tail", (Unit("u", "memory"),), (), (Role("r", (Start("u", 2, 40),)),))
    assert simulate(program).total_cycles == 42


def test_an_empty_program_takes_no_time() -> None:
    assert simulate(Program("empty", (), (), ())).total_cycles == 0
