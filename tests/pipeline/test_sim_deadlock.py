"""What a run that stops says: who is stuck where, and the depth that would do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from patterns.errors import Deadlock
from patterns.pipeline.program import Barrier, Channel, Program, Role, Unit
from patterns.pipeline.script import Acquire, Arrive, Await, Commit, Loop, Op, Release, Run, Wait
from patterns.pipeline.simulate import simulate


def make(channel: str) -> tuple[Op, ...]:
    """One tile."""
    return (Acquire(channel), Run("u", 2), Commit(channel))


def use(channel: str) -> tuple[Op, ...]:
    """One tile."""
    return (Wait(channel), Run("u", 1), Release(channel))


def program(*roles: tuple[Op, ...]) -> Program:
    """Channels a to d of two slots, and a barrier."""
    named = tuple(Role(f"role{index}", script) for index, script in enumerate(roles))
    channels = tuple(Channel(name, 2) for name in "abcd")
    return Program("stuck", (Unit("u", "vector"),), channels, named, (Barrier("bar"),))


# b is read four times before a is: a needs to hold four tiles.
ONE_WOULD_DO = program((Loop(8, (*make("a"), *make("b"))),), (Loop(2, (Loop(4, use("b")), Loop(4, use("a")))),))
# Two pairs that do not know each other: each producer has all of its first channel to make before its reader wants it.
ALL_WOULD_DO = program(
    (Loop(6, make("a")), Loop(6, make("c"))),
    (Loop(6, use("c")), Loop(6, use("a"))),
    (Loop(5, make("b")), Loop(5, make("d"))),
    (Loop(5, use("d")), Loop(5, use("b"))),
)
NONE_WOULD_DO = program((Await("bar", 3), Loop(4, make("a"))), (Arrive("bar"), Arrive("bar"), Loop(4, use("a"))))


def message(stuck: Program) -> str:
    """What the error says."""
    with pytest.raises(Deadlock) as raised:
        simulate(stuck)
    return str(raised.value)


def test_messages(golden: Callable[[str, str], None]) -> None:
    told = [message(stuck) for stuck in (ONE_WOULD_DO, ALL_WOULD_DO, NONE_WOULD_DO)]
    golden("deadlock.txt", "\n\n".join(told) + "\n")


def deeper(stuck: Program, slots: dict[str, int]) -> Program:
    """The same with other depths."""
    channels = tuple(replace(c, slots=slots.get(c.name, c.slots)) for c in stuck.channels)
    return replace(stuck, channels=channels)


@pytest.mark.parametrize(
    ("stuck", "enough"), [(ONE_WOULD_DO, {"a": 4}), (ALL_WOULD_DO, {"a": 6, "b": 6})], ids=["one", "all"]
)
def test_the_depth_told_is_the_smallest_that_ends(stuck: Program, enough: dict[str, int]) -> None:
    assert simulate(deeper(stuck, enough)).total_cycles > 0
    with pytest.raises(Deadlock):
        simulate(deeper(stuck, {name: slots - 1 for name, slots in enough.items()}))


def test_the_depth_is_found_in_a_long_program() -> None:
    trips = 100_000
    assert "4 slots in 'a' would do" in message(
        program(
            (Loop(8 * trips, (*make("a"), *make("b"))),), (Loop(2 * trips, (Loop(4, use("b")), Loop(4, use("a")))),)
        )
    )


def test_a_channel_that_waits_for_itself() -> None:
    told = message(program((*use("a"), *make("a"))))
    assert "waits for a tile of 'a', which is empty" in told
    assert told.endswith("no depth would do")
