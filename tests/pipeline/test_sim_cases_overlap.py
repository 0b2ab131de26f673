"""Situations in which people counted overlap wrongly, each with its right value.

Sums of durations for busy time, exposed time equal to the whole, fills that were forgotten, single-stage pipelines that
hang, times that were added where they overlap, and cycles counted one too many.
"""

from __future__ import annotations

import pytest

from gpu_model import load_machine, lower
from patterns.errors import UserError
from patterns.library import workload
from patterns.pipeline.calls import CallStep, schedule_program
from patterns.pipeline.overlap import account
from patterns.pipeline.program import Channel, Program, Role, Unit
from patterns.pipeline.script import Acquire, Commit, Loop, Op, Release, Run, Wait
from patterns.pipeline.simulate import simulate
from patterns.plan import LaunchCost

STREAMS = 2


def parts(program: Program) -> dict[str, int]:
    return {name: cycles for name, cycles in account(program, simulate(program)) if cycles}


def test_busy_is_a_union_and_not_a_sum() -> None:
    # Kernels [0, 10) and [20, 25) in one stream, [5, 15) in another: the union is 20 of 25 cycles, the sum 25.
    first = (Run("sm", 10), Run("host 0", 10), Run("sm", 5))
    second = (Run("host 1", 5), Run("sm", 10))
    hosts = tuple(Unit(f"host {stream}", "launch") for stream in range(STREAMS))
    units = (Unit("sm", "matrix", STREAMS), *hosts)
    program = Program("streams", units, (), (Role("s0", first), Role("s1", second)))
    timeline = simulate(program)
    assert timeline.total_cycles == 25
    assert timeline.busy_cycles["sm"] == 25
    # 5 cycles of 25 without a kernel; the gap of 10 in the first stream is no more than that.
    assert parts(program) == {"exposed_matrix": 20, "launch": 5}


def test_exposed_memory_is_what_no_computing_covers() -> None:
    memory = (Run("hbm", 8), Run("pause 0", 2), Run("hbm", 4))
    compute = (Run("pause 1", 4), Run("tc", 8), Run("pause 1", 2), Run("tc", 6))
    units = (Unit("hbm", "memory"), Unit("tc", "matrix"), Unit("pause 0", "sync"), Unit("pause 1", "sync"))
    program = Program("exposed", units, (), (Role("m", memory), Role("c", compute)))
    timeline = simulate(program)
    assert (timeline.busy_cycles["hbm"], timeline.busy_cycles["tc"]) == (12, 14)
    assert parts(program) == {"overlapped": 6, "exposed_memory": 6, "exposed_matrix": 8}
    assert timeline.total_cycles == 14 + 12 - 6


def ring(tiles: int, load: int, compute: int, slots: int) -> Program:
    producer: tuple[Op, ...] = (Acquire("ring"), Run("load", load), Commit("ring"))
    consumer: tuple[Op, ...] = (Wait("ring"), Run("tc", compute), Release("ring"))
    roles = (Role("producer", (Loop(tiles, producer),)), Role("consumer", (Loop(tiles, consumer),)))
    return Program("ring", (Unit("load", "memory"), Unit("tc", "matrix")), (Channel("ring", slots),), roles)


# 8 tiles: one buffer serialises, two leave only the first load (or the last step) exposed, a third brings nothing.
@pytest.mark.parametrize(
    ("load", "compute", "slots", "total"), [(4, 6, 1, 80), (4, 6, 2, 52), (4, 6, 3, 52), (6, 4, 2, 52)]
)
def test_a_double_buffered_loop_has_a_fill_or_a_drain(load: int, compute: int, slots: int, total: int) -> None:
    assert simulate(ring(8, load, compute, slots)).total_cycles == total


def test_one_stage_serialises_and_none_is_refused() -> None:
    assert simulate(ring(8, 4, 6, 1)).total_cycles == 8 * (4 + 6)
    with pytest.raises(ValueError, match="has 0 slots"):
        simulate(ring(8, 4, 6, 0))
    machine = load_machine("lecture_sm")
    plan = lower(workload("gemm"), machine, schedule="warp_specialized", options={"slots": 1})
    assert simulate(plan.calls[0].program).total_cycles > 64 * (1024 + 768 + 700)
    with pytest.raises(UserError, match=r"slots must be a whole number greater than 0, is 0"):
        lower(workload("gemm"), machine, schedule="warp_specialized", options={"slots": 0})


TILES = 100


def kernel(compute: int, memory: int) -> int:
    """Cycles of a kernel whose tiles are double-buffered."""
    return simulate(ring(TILES, memory, compute, 2)).total_cycles


def test_times_are_a_maximum_inside_a_kernel_and_a_sum_over_kernels() -> None:
    # op1 computes 10 and loads 2, op2 computes 2 and loads 10, in hundreds of cycles. On a GPU 10 + 10.
    first, second = kernel(10, 2), kernel(2, 10)
    assert (first, second) == (TILES * 10 + 2, TILES * 10 + 2)
    free = LaunchCost("stream", 0, 0, 0, 1024)
    calls = schedule_program([CallStep("op1", first), CallStep("op2", second)], free)
    assert simulate(calls).total_cycles == first + second


def test_a_fused_section_overlaps_across_its_operators() -> None:
    # The same on one RDU section: each operator has its PCUs, one memory channel serves both: max(10, 2, 2 + 10).
    loads = (Acquire("a"), Run("hbm", 2), Commit("a"), Acquire("b"), Run("hbm", 10), Commit("b"))
    op1: tuple[Op, ...] = (Wait("a"), Acquire("c"), Run("pcu 1", 10), Commit("c"), Release("a"))
    op2: tuple[Op, ...] = (Wait("c"), Wait("b"), Run("pcu 2", 2), Release("b"), Release("c"))
    units = (Unit("hbm", "memory"), Unit("pcu 1", "matrix"), Unit("pcu 2", "matrix"))
    roles = tuple(Role(name, (Loop(TILES, body),)) for name, body in (("ag", loads), ("op1", op1), ("op2", op2)))
    program = Program("section", units, tuple(Channel(name, 2) for name in "abc"), roles)
    total = simulate(program).total_cycles
    fill = 2 + 10 + 10 + 2
    assert TILES * 12 <= total <= TILES * 12 + fill


def test_intervals_are_half_open() -> None:
    program = Program("chain", (Unit("u", "vector"),), (), (Role("r", (Run("u", 4), Run("u", 3), Run("u", 3))),))
    timeline = simulate(program)
    assert timeline.total_cycles == 10
    assert [(span.start, span.end) for span in timeline.spans] == [(0, 4), (4, 7), (7, 10)]
