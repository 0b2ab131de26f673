"""Occupancy numbers that people got wrong, end to end: waves, stages, launches that cannot run.

Registers in steps of eight, the greatest legal values and register plans are in test_gpu_occupancy.py and
test_gpu_registers.py; bytes in flight in test_gpu_cases_hardware.py.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_model import load_machine, lower
from gpu_model.occupancy.limits import waves
from gpu_model.occupancy.tile_cta import Tile, tile_cta
from gpu_model.options import Options
from patterns.errors import DoesNotFit
from patterns.library import workload
from patterns.pipeline.simulate import simulate

H100 = load_machine("h100_sxm")
# 132 SMs of the lecture's, each with a memory path of its own.
MANY = replace(load_machine("lecture_sm"), sm_count=132, l2_bytes_per_cycle=64 * 132, hbm_bytes_per_s=10**15)


def cycles_of(tiles: int) -> int:
    """Equal tiles of 128 x 256, one CTA an SM."""
    graph = workload("gemm", overrides={"m": 128 * tiles, "n": 256, "k": 1024})
    (call,) = lower(graph, MANY, schedule="synchronous", options={"tile_m": 128, "tile_n": 256}).calls
    return simulate(call.program).total_cycles


def test_one_tile_more_than_sms_takes_twice_as_long() -> None:
    assert cycles_of(133) == 2 * cycles_of(132)
    assert cycles_of(132) == cycles_of(1)
    assert waves(MANY, 133, 1) == (2, 133 / 264)


def test_a_gemm_of_4096_is_four_waves_of_which_three_per_cent_are_empty() -> None:
    tiles = (4096 // 128) * (4096 // 256)
    count, share = waves(H100, tiles, 1)
    assert (tiles, count) == (512, 4)
    assert share == pytest.approx(0.9697, abs=1e-4)


@pytest.mark.parametrize(
    ("columns", "stage_bytes", "most"),
    [(256, 49_152, 4), (128, 32_768, 7)],
)
def test_stages_of_a_hopper_cta(columns: int, stage_bytes: int, most: int) -> None:
    tile = Tile(128, columns, 64)
    assert tile.slot_bytes == stage_bytes
    cta = tile_cta(H100, tile, "multistage", Options(slots=most))
    # Before barrier bytes: 16 a stage.
    assert cta.demand.smem_bytes == most * (stage_bytes + 16)
    assert cta.most_slots == most
    with pytest.raises(DoesNotFit, match=f"there is 232,448; a slot has {stage_bytes:,} bytes and at most {most} fit"):
        tile_cta(H100, tile, "multistage", Options(slots=most + 1))
