"""How long a Program takes, found in the order of its data, is what the simulation finds in the order of time."""

from __future__ import annotations

from random import Random

import pytest

from patterns.errors import Deadlock
from patterns.pipeline.duration import Duration, total_cycles, totals
from patterns.pipeline.program import Barrier, Channel, Program, Role, Unit
from patterns.pipeline.script import Acquire, Arrive, Await, Commit, Fill, Free, Loop, Op, Release, Run, Start, Wait
from patterns.pipeline.simulate import simulate
from patterns.pipeline.tokens import wiring
from tests.pipeline.random_programs import random_nest, random_program

UNITS = (Unit("x", "memory"), Unit("y", "matrix"), Unit("z", "vector"))


def chain(trips: int) -> Program:
    """Two streams share a memory; what they bring is multiplied and handed on."""

    def brings(name: str, cycles: int) -> tuple[Op, ...]:
        return (Loop(trips, (Acquire(name), Run("x", cycles), Commit(name))),)

    product = (Wait("a"), Wait("b"), Acquire("c"), Run("y", 11), Release("a"), Release("b"), Commit("c"))
    roles = (
        Role("a", brings("a", 3)),
        Role("b", brings("b", 4)),
        Role("product", (Loop(trips, product),)),
        Role("last", (Loop(trips, (Wait("c"), Run("z", 2), Release("c"))),)),
    )
    return Program("chain", UNITS, (Channel("a", 2), Channel("b", 3), Channel("c", 2)), roles)


@pytest.mark.parametrize("first", range(0, 1000, 250))
def test_random_programs_take_as_long_as_simulated(first: int) -> None:
    suited = jumped = 0
    for seed in range(first, first + 250):
        rng = Random(seed)
        program = random_nest(rng) if seed % 5 == 0 else random_program(rng, 400)
        wires = wiring(program)
        if wires is None:
            continue
        suited += 1
        run = Duration(program, wires)
        found = run.cycles()
        if found is None:
            with pytest.raises(Deadlock):
                simulate(program)
        else:
            assert found == simulate(program, spans=False).total_cycles, seed
            jumped += bool(run.left_out)
    assert suited > 50
    assert jumped > 20


def test_the_cost_does_not_grow_with_trips() -> None:
    short, long = chain(100), chain(1_000_000)
    assert total_cycles(long) == simulate(long).total_cycles
    run = Duration(long, wiring(long) or pytest.fail("its times follow from data"))
    assert run.cycles() == total_cycles(short) + 11 * (1_000_000 - 100)
    assert run.moves < 1000


def test_periods_are_found_after_very_many_looks_that_found_none() -> None:
    """Forty short loops spend the looks that are free; those of the long loop after them are due later, not never."""
    trips, short = 100_000, 40

    def brings(name: str, cycles: int) -> tuple[Op, ...]:
        body = (Acquire(name), Run("x", cycles), Commit(name))
        return (*(Loop(5, body) for _ in range(short)), Loop(trips, body))

    product = (Wait("a"), Wait("b"), Run("y", 11), Release("a"), Release("b"))
    roles = (
        Role("a", brings("a", 3)),
        Role("b", brings("b", 4)),
        Role("product", (*(Loop(5, (*product, Run("z", at))) for at in range(1, short + 1)), Loop(trips, product))),
    )
    program = Program("late loop", UNITS, (Channel("a", 2), Channel("b", 2)), roles)
    run = Duration(program, wiring(program) or pytest.fail("its times follow from data"))
    assert run.cycles() == 7 + (trips + 5 * short) * 11 + 5 * sum(range(1, short + 1))
    assert run.moves < 10_000


def test_a_role_that_is_late_makes_up_for_it_before_periods_are_left_out() -> None:
    """The reader begins 40 cycles late and is a cycle faster than the others. Only its own clock says so: the slots
    that it frees are free before anybody asks for them."""

    def late(trips: int) -> Program:
        loads = (Wait("go"), Release("go"), Acquire("tile"), Run("x", 10), Commit("tile"))
        others = (Acquire("go"), Commit("go"), Run("x", 50), Run("x", 50))
        reads = (Wait("tile"), Release("tile"), Run("y", 109))
        roles = (
            Role("loader", (Loop(trips, loads),)),
            Role("other", (Loop(trips, others),)),
            Role("reader", (Run("y", 50), Loop(trips, reads))),
        )
        return Program("late", UNITS, (Channel("go", 2), Channel("tile", 2)), roles)

    # A trip is 110 cycles of x; the first tile is there after 10 cycles, and is read when 50 have passed.
    assert total_cycles(late(1)) == 50 + 109
    assert total_cycles(late(30)) == 50 + 30 * 109
    assert total_cycles(late(200)) == 10 + 199 * 110 + 109


def pairs(rng: Random) -> Program:
    """Pairs of roles that hand tiles to one another, at very different paces, and share memories: while some go round
    and round, others wait for what is far away, and so do these for other tiles."""
    roles: list[Role] = []
    channels: list[Channel] = []
    for pair in range(rng.randint(2, 4)):
        name, far, own, slow = f"c{pair}", f"f{pair}", f"own {pair}", rng.choice((1, 1, 30, 400))
        trips, rounds = rng.randint(2, 40), rng.randint(1, 5)
        cycles, latency = rng.randint(1, 9) * slow, rng.choice((0, 5, 700))
        unit, busy = rng.choice(("x", "x", "w")), rng.randint(1, 12) * slow
        brings = rng.choice(
            (
                (Acquire(name), Run(unit, cycles), Commit(name)),
                (Acquire(name), Start(unit, cycles, latency, (Fill(name),))),
            )
        )
        takes = rng.choice(
            (
                (Wait(name), Run(own, busy), Release(name)),
                (Wait(name), Start(own, busy, latency, (Free(name),))),
            )
        )
        again = rng.choice(((), (Run("x", rng.randint(1, 500)),)))
        before = rng.choice(((), (Run("x", rng.randint(1, 3000)),)))
        hands = (Acquire(far), Run(rng.choice(("x", "far")), rng.randint(1, 3000)), Commit(far))
        roles.append(Role(f"hands {pair}", (Loop(rounds, hands),)))
        roles.append(Role(f"brings {pair}", (Loop(rounds, (*again, Loop(trips, brings))),)))
        aside = rng.choice(((), (Start(f"aside {pair}", rng.randint(1, 9) * slow),)))
        meanwhile = rng.choice(((), (Start(f"aside {pair}", rng.randint(1, 5000)),)))
        gets = (Wait(far), *meanwhile, Loop(trips, (*aside, *takes) if not meanwhile else takes), Release(far))
        roles.append(Role(f"takes {pair}", (*before, Loop(rounds, gets))))
        channels += [Channel(name, rng.randint(1, 4)), Channel(far, rng.randint(1, 3))]
    rng.shuffle(roles)
    units = (Unit("x", "memory"), Unit("w", "memory", rng.randint(1, 2)), Unit("far", "vector"))
    units += tuple(Unit(f"{name} {pair}", "matrix") for name in ("own", "aside") for pair in range(4))
    return Program("pairs", units, tuple(channels), tuple(roles))


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_periods_in_which_some_roles_stand_still_are_left_out(first: int) -> None:
    jumped = 0
    for seed in range(first, first + 100):
        program = pairs(Random(seed))
        run = Duration(program, wiring(program) or pytest.fail("its times follow from data"))
        assert run.cycles() == simulate(program, spans=False).total_cycles, seed
        jumped += bool(run.left_out)
    assert jumped > 50


def test_totals_are_those_of_a_run() -> None:
    found, run = totals(chain(50)), simulate(chain(50))
    assert (found.total_cycles, found.busy, found.counters) == (run.total_cycles, run.busy, run.counters)
    assert found.spans == found.windows == ()


def test_where_roles_meet_the_order_of_time_decides() -> None:
    """Arrivals are not handed to a role, and tiles that roles take in turn are not those of one."""
    meeting = Program(
        "meeting",
        UNITS,
        (),
        (Role("one", (Run("x", 5), Arrive("met"))), Role("other", (Await("met"), Run("y", 2)))),
        (Barrier("met"),),
    )
    take: tuple[Op, ...] = (Wait("a"), Run("y", 9), Release("a"))
    turns = Program(
        "turns",
        UNITS,
        (Channel("a", 2),),
        (
            Role("maker", (Loop(4, (Acquire("a"), Run("x", 3), Commit("a"))),)),
            Role("ping", (Loop(2, take),)),
            Role("pong", (Loop(2, take),)),
        ),
    )
    for program in (meeting, turns):
        assert wiring(program) is None
        assert total_cycles(program) == simulate(program).total_cycles


def test_a_deadlock_is_explained() -> None:
    stuck = Program(
        "stuck",
        UNITS,
        (Channel("a", 1), Channel("b", 1)),
        (Role("one", _round("a", "b")), Role("two", _round("b", "a"))),
    )
    with pytest.raises(Deadlock, match="stuck"):
        total_cycles(stuck)


def _round(takes: str, makes: str) -> tuple[Op, ...]:
    return (Wait(takes), Release(takes), Acquire(makes), Commit(makes))


def test_a_tile_that_nobody_reads_is_a_mistake() -> None:
    roles = (
        Role("maker", (Loop(3, (Acquire("a"), Run("x", 1), Commit("a"))),)),
        Role("reader", (Loop(2, (Wait("a"), Release("a"))),)),
    )
    with pytest.raises(ValueError, match="3 tiles are made, 2 read"):
        total_cycles(Program("left", UNITS, (Channel("a", 2),), roles))
