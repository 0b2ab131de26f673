"""The lecture's estimates to the digits that it prints, and the runs that they are beside."""

from __future__ import annotations

import pytest

from gpu_model import load_machine
from gpu_model.lecture import estimates
from gpu_model.lecture.gemm import LATENCIES, STAGES, lecture_runs
from gpu_model.occupancy.limits import WARPGROUP
from gpu_model.occupancy.register_plan import consumer_registers, even_registers
from patterns.errors import UserError

SM = load_machine("lecture_sm")
MMA, TRANSFER, ISSUE = 1024, 768, 100
EPILOGUE = 256 + 1024
TILE_BYTES = 48 * 1024
PEAK_BF16, PEAK_FP8 = 989.4e12, 1978.9e12


def test_littles_law() -> None:
    assert estimates.in_flight_bytes(64, 700) == 44_800
    assert round(estimates.tiles_in_flight(64, 700, TILE_BYTES), 2) == 0.91
    assert round(estimates.in_flight_bytes_at_hbm(SM) / 1e6, 2) == 1.28
    assert round(estimates.in_flight_bytes_per_sm(SM, sm_count=132) / 1e3, 1) == 9.7


def test_bytes_in_flight_limit_what_a_path_gives() -> None:
    # 600 ns at 3.35 TB/s need 2.01 MB, 15,227 B an SM.
    assert round(3.35e12 * 600e-9 / 132) == 15_227
    assert estimates.achieved_bytes_per_s(3.35e12, 8192 * 132, 600e-9) == pytest.approx(1.802e12, rel=1e-3)
    assert estimates.achieved_bytes_per_s(3.35e12, 16384 * 132, 600e-9) == 3.35e12


def test_the_ideal_run() -> None:
    assert estimates.ideal_cycles(64, MMA) == 65_536
    assert round(estimates.ideal_time_us(64, MMA, SM.clock_hz), 1) == 35.8


def test_bounds() -> None:
    assert round(estimates.multistage_bound_percent(MMA, ISSUE), 1) == 91.1
    assert round(estimates.single_consumer_bound_percent(4, MMA, EPILOGUE), 1) == 76.2
    assert round(estimates.pingpong_bound_percent(8, 16, MMA, 8 * EPILOGUE), 1) == 92.8
    # Epilogues three times as long as main loops: 10, 10 + 30, then each consumer's second tile behind the other's.
    assert estimates.pingpong_bound_percent(4, 1, 10, 30) == pytest.approx(100 * 40 / 90)
    assert round(estimates.producer_bound_percent(MMA, 1500)) == 68
    assert estimates.producer_bound_percent(MMA, 800) == estimates.producer_bound_percent(MMA, 0) == 100


@pytest.mark.parametrize(("latency", "needed"), [(300, 2), (700, 3), (1500, 4), (3000, 5)])
def test_the_stage_formula_asks_for_at_least_what_a_run_needs(latency: int, needed: int) -> None:
    runs = {run.id: run for run in lecture_runs()}
    percent = {stages: runs[f"multistage_{stages}_stages_latency_{latency}"].tensor_core_percent for stages in STAGES}
    assert estimates.stages_within(percent) == needed
    assert latency in LATENCIES
    formula = estimates.stages_needed(ISSUE, TRANSFER, latency, MMA)
    # Conservative: it asks for 3 at a latency of 300, where 2 are enough.
    assert formula == {300: 3, 700: 3, 1500: 4, 3000: 5}[latency]
    assert formula >= needed


def test_an_exact_multiple_needs_no_further_stage() -> None:
    # 1 + 1124 / 1124
    assert estimates.stages_needed(100, 524, 500, MMA) == 2
    with pytest.raises(UserError, match="no runs"):
        estimates.stages_within({})


def test_the_run_stays_below_its_bound() -> None:
    runs = {run.id: run for run in lecture_runs()}
    best = max(runs[f"multistage_{stages}_stages"].tensor_core_percent for stages in STAGES)
    assert 0 < estimates.multistage_bound_percent(MMA, ISSUE) - best < 3
    one = runs["persistent_8_tiles_k256_one_consumer"].tensor_core_percent
    assert 0 < estimates.single_consumer_bound_percent(4, MMA, EPILOGUE) - one < 3
    two = runs["persistent_8_tiles_k1024_epilogue_x8_pingpong"].tensor_core_percent
    assert 0 < estimates.pingpong_bound_percent(8, 16, MMA, 8 * EPILOGUE) - two < 1


def test_at_half_the_bandwidth_the_load_path_is_busy() -> None:
    run = next(run for run in lecture_runs() if run.id == "half_bandwidth_warp_specialized_4_slots")
    assert run.timeline.busy_cycles["load"] == 64 * 2 * TRANSFER
    assert round(estimates.busy_percent(64 * 2 * TRANSFER, run.total_cycles), 2) == 96.05


def test_register_budgets() -> None:
    assert (WARPGROUP, SM.registers_per_sm) == (128, 65_536)
    assert consumer_registers(SM, consumers=3, producer=24) == 160
    assert consumer_registers(SM, consumers=2, producer=40) == 232
    assert consumer_registers(SM, consumers=2, producer=24) == 240
    assert even_registers(SM, 3) == 168
    assert estimates.staging_registers(TILE_BYTES) == 96
    assert estimates.registers_left(SM, warpgroups=3, accumulators=128) == 40
    assert [estimates.registers_gained(SM, 2, producer) for producer in (40, 24)] == [64, 72]


def test_exp_beside_matrix_products() -> None:
    # FlashAttention-3: 989 TFLOP/s of matrix products against 3.9 of exp.
    assert round(estimates.tensor_to_exp_ratio(989e12, 3.9e12)) == 254
    assert estimates.exp_to_gemm_ratio(64, 128, 128, SM) == 0.5


def test_attention_in_one_warpgroup_that_overlaps_with_itself() -> None:
    assert estimates.intra_warpgroup_percent(gemm_cycles=512, softmax_cycles=768) == 80
    assert estimates.intra_warpgroup_percent(gemm_cycles=256, softmax_cycles=768) == 50


def test_published_rates_of_peak() -> None:
    assert round(estimates.percent_of_peak(661e12, PEAK_BF16)) == 67
    assert round(estimates.percent_of_peak(740e12, PEAK_BF16)) == 75
    assert round(estimates.percent_of_peak(1.2e15, PEAK_FP8)) == 61
    assert round(estimates.percent_of_peak(350e12, PEAK_BF16)) == 35
