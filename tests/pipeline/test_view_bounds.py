"""Bounds read off a Program's text, against a run of it."""

from __future__ import annotations

import pytest

from patterns.pipeline.bounds import Bound, counters_of, limiting_unit, lower_bound, work_by_unit
from patterns.pipeline.program import Program, Role, Unit
from patterns.pipeline.script import Loop, Run, Start
from patterns.pipeline.simulate import simulate
from tests.pipeline.view_programs import multistage, random_program, warp_specialized


def test_loops_are_multiplied_out() -> None:
    inner = Loop(3, (Run("a", 2, counts=(("flops", 5), ("flops", 1))), Start("b", 7, counts=(("hbm_bytes", 4),))))
    script = (Loop(10, (inner, Run("a", 1))), Loop(0, (Run("a", 1000),)))
    program = Program("p", (Unit("a", "matrix"), Unit("b", "memory", 4)), (), (Role("r", script),))
    assert work_by_unit(program) == (("a", 70), ("b", 210))
    assert counters_of(program) == (("flops", 180), ("hbm_bytes", 120))
    assert lower_bound(program) == Bound(70, "a")


def test_lanes_share_the_work_and_a_role_bounds_too() -> None:
    roles = (Role("r", (Run("a", 7),)), Role("s", (Run("a", 6),)))
    program = Program("p", (Unit("a", "matrix", 2),), (), roles)
    # 13 cycles on two lanes are 7, as long as role r alone; the unit is named first.
    assert lower_bound(program) == Bound(7, "a")
    assert lower_bound(Program("p", (Unit("a", "matrix", 4),), (), roles)) == Bound(7, "role r")


def test_the_limiting_unit_is_compared_without_rounding() -> None:
    units = (Unit("a", "matrix", 3), Unit("b", "memory", 2), Unit("c", "vector", 2))
    script = (Run("a", 10), Run("b", 7), Run("c", 7))
    assert limiting_unit(Program("p", units, (), (Role("r", script),))).name == "b"


def test_a_program_without_units_is_bounded_by_nothing() -> None:
    assert lower_bound(Program("p", (), (), ())) == Bound(0, "")


def test_the_lectures_bound_is_the_tensor_core_or_the_warps_that_also_load() -> None:
    assert lower_bound(warp_specialized()) == Bound(65536 + 256 + 1024, "role consumer")
    assert lower_bound(multistage(4)) == Bound(64 * 1124 + 1280, "role warps")


@pytest.mark.parametrize("seed", range(60))
def test_no_run_is_shorter_and_units_do_the_work_that_is_written(seed: int) -> None:
    program = random_program(seed)
    timeline = simulate(program, spans=False)
    assert lower_bound(program).cycles <= timeline.total_cycles
    assert dict(work_by_unit(program)) == dict(timeline.busy)
    assert counters_of(program) == timeline.counters
