"""A Program printed: pinned whole, and every op has a line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import get_args

import pytest

from patterns.pipeline.listing import effect_text, lines_of, listing
from patterns.pipeline.program import Barrier, Channel, Program, Role, Unit
from patterns.pipeline.script import (
    Acquire,
    Arrive,
    Await,
    Commit,
    Effect,
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
    copy,
    multicast,
)
from tests.pipeline.view_programs import warp_specialized

LOAD = copy("mem", 768, 700, "a", num_bytes=32768, label="tma load", counts=(("hbm_bytes", 49152),))
EVERY_OP: tuple[Op, ...] = (
    Acquire("a"),
    multicast(LOAD, "b"),
    Loop(
        1000,
        (
            Wait("a", 1),
            Run("tc", 1, "mma", (("matrix_flops", 33554432), ("hbm_bytes", 0))),
            Start("tc", 2, 0, (Free("a", 1), Signal("turn")), "gemm", "mma"),
            Loop(2, (Run("tc", 3),)),
            Finish("gemm"),
            Release("a"),
        ),
        "k-steps",
    ),
    Commit("a", 16384),
    Commit("b"),
    Arrive("turn"),
    Await("turn"),
    Await("turn", 2),
    Start("mem", 5),
)
UNITS = (Unit("tc", "matrix"), Unit("mem", "memory", 2))
CHANNELS = (Channel("a", 4, 2, 49152), Channel("b", 1))


def test_the_lectures_program(golden: Callable[[str, str], None]) -> None:
    golden("view/listing_warp_specialized.txt", listing(warp_specialized()))


def test_every_op(golden: Callable[[str, str], None]) -> None:
    program = Program("every op", UNITS, CHANNELS, (Role("warp", EVERY_OP), Role("other", ())), (Barrier("turn"),))
    golden("view/listing_every_op.txt", listing(program))


@pytest.mark.parametrize("op_type", get_args(Op))
def test_no_op_is_without_a_line(op_type: type) -> None:
    assert lines_of.dispatch(op_type) is not lines_of.dispatch(object)


@pytest.mark.parametrize("effect_type", get_args(Effect))
def test_no_effect_is_without_a_text(effect_type: type) -> None:
    assert effect_text.dispatch(effect_type) is not effect_text.dispatch(object)


def test_different_programs_print_differently() -> None:
    changed = [
        replace(LOAD, latency=0),
        replace(LOAD, cycles=1),
        replace(LOAD, then=(Fill("a"),)),
        replace(LOAD, unit="tc"),
    ]
    texts = {tuple(lines_of(op)) for op in (LOAD, *changed, replace(LOAD, handle="h"), replace(LOAD, then=()))}
    assert len(texts) == 7
