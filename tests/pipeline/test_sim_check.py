"""What is refused before a run: bugs of whoever built the Program, told in words."""

from __future__ import annotations

import pytest

from patterns.pipeline.program import Barrier, Channel, Program, Role, Unit
from patterns.pipeline.script import (
    Acquire,
    Arrive,
    Await,
    Commit,
    Fill,
    Finish,
    Free,
    Loop,
    Op,
    Release,
    Run,
    Signal,
    Start,
    Wait,
)
from patterns.pipeline.simulate import simulate


def program(*script: Op, other: tuple[Op, ...] = ()) -> Program:
    """Unit u, channels c (2 slots) and d (6 bytes a slot), barrier b."""
    roles = (Role("r", script), Role("other", other))
    return Program(
        "p", (Unit("u", "vector"),), (Channel("c", 2), Channel("d", 2, slot_bytes=6)), roles, (Barrier("b"),)
    )


USE = (Wait("c"), Release("c"))

WRONG = {
    "no unit 'v'": program(Run("v", 1)),
    "no channel 'x'": program(Acquire("x")),
    "no barrier 'x'": program(Arrive("x"), Await("b"), Arrive("b")),
    "no unit 'w'": program(Loop(2, (Loop(2, (Start("w", 1),)),))),
    "(fill): no channel 'y'": program(Start("u", 1, then=(Fill("y"),))),
    "(release): no channel 'z'": program(Start("u", 1, then=(Free("z"),))),
    "(arrive): no barrier 'q'": program(Start("u", 1, then=(Signal("q"),))),
    "channel 'c' has no reader 1": program(Wait("c", 1), Release("c", 1)),
    "cycles and latency of 'u' are not negative": program(Run("u", -1)),
    "cycles and latency of 'x' are not negative": program(Start("u", 1, -1, label="x")),
    "a count of -2": program(Loop(-2, (Run("u", 1),))),
    "a count of -3": program(Await("b", -3)),
    "-4 bytes into 'd'": program(Acquire("d"), Commit("d", -4)),
    "'c': 1 tiles are made, 0 read by reader 0": program(Acquire("c"), Commit("c")),
    "'c': 3 tiles are made, 2 read by reader 0": program(Loop(3, (Acquire("c"), Commit("c"))), other=USE * 2),
    "'r' acquires more of 'c' than it fills": program(Acquire("c"), other=USE),
    "'r' acquires more of 'd' than it fills": program(Acquire("d"), Commit("d", 5), other=(Wait("d"), Release("d"))),
    "'other' waits for more tiles of 'c' than it releases": program(Acquire("c"), Commit("c"), other=(Wait("c"),)),
    "'r' fills 'c' before it acquires it": program(Commit("c"), Acquire("c"), other=USE),
    "'other' releases 'c' before it waits for it": program(Acquire("c"), Commit("c"), other=(Release("c"), Wait("c"))),
    "'r' finishes 'h' before it starts it": program(Loop(2, (Finish("h"), Start("u", 1, handle="h")))),
    "'r' finishes 'g' before it starts it": program(Start("u", 1, handle="g"), Loop(2, (Finish("g"),))),
}


@pytest.mark.parametrize("message", WRONG)
def test_mistakes_are_told(message: str) -> None:
    with pytest.raises(ValueError, match="program 'p': ") as raised:
        simulate(WRONG[message])
    assert message in str(raised.value)


def test_all_mistakes_are_told_at_once() -> None:
    wrong = Program(
        "p", (Unit("u", "vector", 0), Unit("u", "matrix")), (Channel("c", 0),), (Role("r", (Run("v", -1),)),)
    )
    with pytest.raises(ValueError, match="program 'p': ") as raised:
        simulate(wrong)
    for told in ("two units are named 'u'", "'u' has 0 lanes", "'c' has 0 slots", "no unit 'v'", "not negative"):
        assert told in str(raised.value)


def test_a_slot_is_not_filled_beyond_its_bytes() -> None:
    over = program(
        *(Acquire("d"), Acquire("d"), Commit("d", 4), Commit("d", 4), Commit("d", 4)),
        other=(Wait("d"), Release("d")) * 2,
    )
    with pytest.raises(ValueError, match="with more than 6 bytes"):
        simulate(over)


def test_a_start_may_stay_unfinished() -> None:
    assert simulate(program(Loop(3, (Start("u", 2, handle="h"),)), Finish("h"))).total_cycles == 6
