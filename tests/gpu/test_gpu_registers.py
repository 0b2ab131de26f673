"""Register plans: what setmaxnreg accepts, and the pool that the CTA was launched with."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_model import load_machine
from gpu_model.occupancy.limits import most_registers
from gpu_model.occupancy.register_plan import (
    check_setmaxnreg,
    consumer_registers,
    even_registers,
    register_plan,
    set_registers,
)
from patterns.errors import UserError

H100 = load_machine("h100_sxm")


@pytest.mark.parametrize("registers", [24, 240, 256])
def test_setmaxnreg_accepts(registers: int) -> None:
    check_setmaxnreg(registers, 128)


@pytest.mark.parametrize(
    ("registers", "threads", "message"),
    [
        (20, 128, "24 to 256"),
        (16, 128, "24 to 256"),
        (236, 128, "multiples of 8"),
        (264, 128, "24 to 256"),
        (24, 96, "whole warpgroups"),
        (24, 0, "whole warpgroups"),
    ],
)
def test_setmaxnreg_refuses(registers: int, threads: int, message: str) -> None:
    with pytest.raises(UserError, match=message):
        check_setmaxnreg(registers, threads)


# Producer and consumers of CUTLASS, FlashAttention-3 and ThunderKittens; all registers of a pool, or fewer.
@pytest.mark.parametrize(
    ("warpgroups", "pool"),
    [
        ((40, 232, 232), 64_512),
        ((24, 240, 240), 64_512),
        ((32, 160, 160, 160), 65_536),
        ((24, 160, 160, 160), 65_536),
        ((56, 256), 65_536),
        ((24, 112, 112, 112, 112), 61_440),
    ],
)
def test_register_plans_of_known_kernels(warpgroups: Sequence[int], pool: int) -> None:
    plan = register_plan(H100, warpgroups)
    assert plan.pool == pool
    assert plan.needed <= pool


def test_known_plans_are_the_greatest() -> None:
    assert consumer_registers(H100, 2, 40) == 232
    assert consumer_registers(H100, 2, 24) == 240
    assert consumer_registers(H100, 3, 24) == 160
    assert consumer_registers(H100, 1) == 256
    assert even_registers(H100, 3) == most_registers(H100, 12) == 168


def test_a_plan_over_the_pool_would_hang() -> None:
    with pytest.raises(UserError) as refusal:
        register_plan(H100, (40, 240, 240))
    assert str(refusal.value) == (
        "the warpgroups ask for 40 + 240 + 240 registers a thread, 66,560 of the CTA, whose pool has 64,512 (3 "
        "warpgroups launched with 168): the last setmaxnreg would wait for ever; each of the greatest can have 232"
    )
    with pytest.raises(UserError, match="wait for ever; the greatest can have 136"):
        register_plan(H100, (24, 240), launched=80)
    with pytest.raises(UserError, match="use fewer warpgroups"):
        register_plan(H100, (256, 256, 256, 256), launched=16)


def test_a_launch_with_more_than_there_is_is_refused() -> None:
    with pytest.raises(UserError, match="3 warpgroups cannot be launched with 176 registers a thread: at most 168"):
        register_plan(H100, (24, 24, 24), launched=176)


@given(st.lists(st.integers(3, 32).map(lambda eighth: 8 * eighth), min_size=1, max_size=8))
def test_a_plan_is_accepted_exactly_if_its_pool_is_enough(warpgroups: list[int]) -> None:
    pool = 65536 // (len(warpgroups) * 128) // 8 * 8
    enough = sum(warpgroups) <= min(pool, 256) * len(warpgroups)
    if enough:
        assert register_plan(H100, warpgroups).needed == 128 * sum(warpgroups)
    else:
        with pytest.raises(UserError, match="wait for ever"):
            register_plan(H100, warpgroups)


@pytest.mark.parametrize(("needed", "set_to"), [(1, 24), (24, 24), (25, 32), (160, 160), (161, 168)])
def test_registers_are_set_in_steps_of_eight(needed: int, set_to: int) -> None:
    assert set_registers(needed) == set_to
