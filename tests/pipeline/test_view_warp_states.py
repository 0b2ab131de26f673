"""Warp states: what roles wait for and when they issue; the parts are their time, exactly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from random import Random

import pytest

from patterns.errors import Deadlock
from patterns.pipeline.program import UNIT_CLASSES, Program, Role, Unit
from patterns.pipeline.script import Run
from patterns.pipeline.simulate import simulate
from patterns.pipeline.warp_states import RoleStates, issue_slots, role_states
from tests.pipeline import lecture_programs
from tests.pipeline.plain_simulator import PlainSimulator
from tests.pipeline.random_programs import random_program


def states(program: Program) -> dict[str, RoleStates]:
    return {found.role: found for found in role_states(program, simulate(program))}


def programs(count: int) -> Iterator[Program]:
    """Random programs that reach their end."""
    for seed in range(count):
        program = random_program(Random(seed), most_trips=12)
        with suppress(Deadlock):
            simulate(program)
            yield program


def test_active_is_the_time_until_the_script_ends() -> None:
    for program in programs(300):
        found = role_states(program, simulate(program))
        # Another simulator, which shares no code with the first, knows when each role took its last op.
        plain = PlainSimulator(program)
        assert [role.active_cycles for role in found] == [role.since for role in plain.roles]
        assert found == role_states(program, simulate(program, jump=False))
        assert found == role_states(program, simulate(program, spans=False))


def test_a_producer_waits_and_a_consumer_issues() -> None:
    run = states(lecture_programs.warp_specialized())
    consumer, producer = run["consumer"], run["producer"]
    # 64 steps of 1,024 and the conversion; the first tile's arrival and the store are waited for.
    assert dict(consumer.eligible) == {"tc": 65_536, "fma": 256}
    assert consumer.active_cycles == 68_294
    assert consumer.stalled[0][0] == "wait ab"
    assert producer.eligible_cycles == 64 * 10
    assert dict(producer.stalled).keys() == {"acquire ab"}


def test_a_synchronous_kernel_is_stalled_most_of_its_time() -> None:
    (cta,) = states(lecture_programs.synchronous()).values()
    # Of each step's 2,592 cycles 100 issue and 1,024 multiply; 768 + 700 are waited for.
    assert dict(cta.stalled)["finish load"] == 64 * (768 + 700)
    assert cta.eligible_cycles == 64 * 1124 + 256
    assert cta.active_cycles == 167_168


@pytest.mark.parametrize("unit_class", UNIT_CLASSES)
def test_a_role_is_eligible_on_units_that_execute_its_instructions(unit_class: str) -> None:
    unit = next(Unit("u", known) for known in UNIT_CLASSES if known == unit_class)
    (found,) = states(Program("p", (unit,), (), (Role("r", (Run("u", 7),)),))).values()
    executing = unit_class in ("matrix", "vector", "special", "issue")
    assert (found.eligible_cycles, found.stalled_cycles) == ((7, 0) if executing else (0, 7))
    assert found.stalled == (() if executing else (("on u", 7),))


def test_waiting_for_a_unit_that_another_holds_is_a_stall() -> None:
    roles = (Role("a", (Run("tc", 5),)), Role("b", (Run("tc", 3),)))
    found = states(Program("p", (Unit("tc", "matrix"),), (), roles))
    assert (found["a"].stalled, found["b"].stalled) == ((), (("unit tc", 5),))
    assert found["b"].active_cycles == 8


def test_issue_slots_are_lanes_times_cycles() -> None:
    roles = tuple(Role(f"r{i}", (Run("issue", 6),)) for i in range(2))
    program = Program("p", (Unit("issue", "issue", 4),), (), roles)
    assert issue_slots(program, simulate(program)) == (12, 24)
    assert issue_slots(Program("q", (), (), ()), simulate(Program("q", (), (), ()))) == (0, 0)
