"""The lecture's figures, to the cycle, from Programs written by hand."""

from __future__ import annotations

import pytest

from patterns.pipeline.program import Program
from patterns.pipeline.simulate import simulate
from tests.pipeline.lecture_programs import (
    attention_intra,
    attention_pingpong,
    attention_serial,
    cooperative,
    multistage,
    pingpong,
    synchronous,
    warp_specialized,
)

FIGURES = {
    "synchronous": (synchronous(), 167168),
    "multistage_2": (multistage(2), 85348),
    "multistage_3": (multistage(3), 74484),
    "multistage_4": (multistage(4), 74384),
    "multistage_5": (multistage(5), 74284),
    "multistage_6": (multistage(6), 74184),
    "warp_specialized_tma_4_slots": (warp_specialized(), 68294),
    "persistent_8_tiles_k256_one_consumer": (warp_specialized(4, 8, 4), 44486),
    "persistent_8_tiles_k256_pingpong": (pingpong(8, 4), 35526),
    "persistent_8_tiles_k4096_pingpong": (pingpong(8, 64), 527046),
    "cooperative_1_tile_k4096": (cooperative(1, 64), 68166),
    "cooperative_8_tiles_k256": (cooperative(8, 4), 43462),
    "cooperative_8_tiles_k1024": (cooperative(8, 16), 141766),
    "attention_serial": (attention_serial(), 57344),
    "attention_pingpong": (attention_pingpong(), 33280),
    "attention_intra_warpgroup": (attention_intra(1, 32), 41472),
    "attention_both": (attention_intra(2, 16), 33024),
}


@pytest.mark.parametrize("jump", [False, True])
@pytest.mark.parametrize("name", FIGURES)
def test_total_cycles(name: str, jump: bool) -> None:
    program, cycles = FIGURES[name]
    assert simulate(program, jump=jump).total_cycles == cycles


def test_busy_cycles_and_stalls_of_the_tensor_core() -> None:
    timeline = simulate(warp_specialized())
    assert timeline.busy_cycles["tc"] == 65536
    stalls = {(stall.role, stall.what): stall.cycles for stall in timeline.stalls}
    # The consumer waits for the first tile only; then it never waits again.
    assert stalls["consumer", "wait ab"] == 10 + 768 + 700


def test_a_role_spends_its_time_in_runs_and_stalls() -> None:
    program: Program = warp_specialized(3, 2, 16)
    timeline = simulate(program)
    stalled = sum(stall.cycles for stall in timeline.stalls if stall.role == "consumer")
    assert stalled + 32 * 1024 + 2 * 1280 == timeline.total_cycles
