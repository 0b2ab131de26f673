"""Loads, stores and arithmetic on the unit machine, synchronous and asynchronous: totals worked out on paper."""

from __future__ import annotations

from gpu_model import load_machine
from gpu_model.price import Transfer, path_cycles, vector_cycles
from patterns.pipeline.program import Program, Role, Unit
from patterns.pipeline.script import Finish, Loop, Op, Run, Start
from patterns.pipeline.simulate import simulate

UNIT = load_machine("unit")
# At one byte and one op a cycle: LD 8 cycles, ST 4, AO 6.
LD = path_cycles(UNIT, Transfer(8, 1, 8, 8), 1, UNIT.load_bytes_per_cycle)
ST = path_cycles(UNIT, Transfer(4, 1, 4, 4), 1, UNIT.store_bytes_per_cycle)
AO = vector_cycles(UNIT, 6)
UNITS = (Unit("load", "memory"), Unit("store", "memory"), Unit("vector", "vector"))


def total(*script: Op) -> int:
    return simulate(Program("by hand", UNITS, (), (Role("warp", script),))).total_cycles


def test_costs_on_the_unit_machine() -> None:
    assert (LD, ST, AO) == (8, 4, 6)


def test_synchronous_each_waits_for_the_one_before() -> None:
    # LD0 ST0 AO0 LD1 ST1 AO1 LD2 ST2 AO2: 3 x (8 + 4 + 6) = 54.
    body = (Run("load", LD), Run("store", ST), Run("vector", AO))
    assert total(Loop(3, body)) == 54


def test_asynchronous_none_waits() -> None:
    # All nine are issued at 0. Each unit works through its own three: loads 3 x 8 = 24, stores 12, arithmetic 18.
    body = (Start("load", LD), Start("store", ST), Start("vector", AO))
    assert total(Loop(3, body)) == 24


def test_asynchronous_with_arithmetic_on_what_was_loaded() -> None:
    # Loads end at 8, 16, 24. AO i starts when load i and AO i-1 have ended: 8-14, 16-22, 24-30.
    # Store i of its result follows while the next load runs: 14-18, 22-26, 30-34.
    loads = Loop(3, (Start("load", LD, handle="loaded"),))
    uses = Loop(3, (Finish("loaded"), Run("vector", AO), Start("store", ST)))
    assert total(loads, uses) == 34


def test_one_load_ahead_of_the_arithmetic() -> None:
    # Software pipelining with one load in flight: LD0 0-8; then AO i beside LD i+1, 8 cycles each but the last:
    # 8 + 8 + 8 + 6 = 30, and the last store 4: 34. The synchronous 54 less the 2 x 6 + 2 x 4 that are hidden.
    script: tuple[Op, ...] = (
        Start("load", LD, handle="loaded"),
        Loop(2, (Finish("loaded"), Start("load", LD, handle="loaded"), Run("vector", AO), Start("store", ST))),
        Finish("loaded"),
        Run("vector", AO),
        Run("store", ST),
    )
    assert total(*script) == 34
