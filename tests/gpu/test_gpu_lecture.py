"""The lecture's GEMM runs to the cycle, and its text time lines to the character, through the whole lowering.

Figures are from a run of the lecture's simulator (CMU 15-779, lecture 6), fill and epilogue included; those of the
cooperative schedule follow from its rules: 1024 cycles of tensor core, 768 of load path and 700 of latency a step, 100
to issue cp.async, 10 for TMA, 192 to stage a step through registers, 256 + 1024 for the epilogue.
"""

from __future__ import annotations

import pytest

from gpu_model import load_machine, lower
from gpu_model.lecture.gemm import lecture_run, lecture_runs
from patterns.library import workload
from patterns.pipeline.simulate import simulate
from patterns.pipeline.text import Glyph, first_letter, text_timeline
from patterns.pipeline.timeline import Span

# By run: total cycles, cycles in which the tensor core is busy, and their share in percent.
FIGURES = {
    "sync_load": (167168, 65536, 39.2),
    "register_double_buffer": (114944, 65536, 57.02),
    "multistage_1_stages": (167168, 65536, 39.2),
    "multistage_2_stages": (85348, 65536, 76.79),
    "multistage_3_stages": (74484, 65536, 87.99),
    "multistage_4_stages": (74384, 65536, 88.1),
    "multistage_5_stages": (74284, 65536, 88.22),
    "multistage_6_stages": (74184, 65536, 88.34),
    "multistage_1_stages_latency_300": (141568, 65536, 46.29),
    "multistage_2_stages_latency_300": (74228, 65536, 88.29),
    "multistage_3_stages_latency_300": (74084, 65536, 88.46),
    "multistage_4_stages_latency_300": (73984, 65536, 88.58),
    "multistage_5_stages_latency_300": (73884, 65536, 88.7),
    "multistage_6_stages_latency_300": (73784, 65536, 88.82),
    "multistage_1_stages_latency_700": (167168, 65536, 39.2),
    "multistage_2_stages_latency_700": (85348, 65536, 76.79),
    "multistage_3_stages_latency_700": (74484, 65536, 87.99),
    "multistage_4_stages_latency_700": (74384, 65536, 88.1),
    "multistage_5_stages_latency_700": (74284, 65536, 88.22),
    "multistage_6_stages_latency_700": (74184, 65536, 88.34),
    "multistage_1_stages_latency_1500": (218368, 65536, 30.01),
    "multistage_2_stages_latency_1500": (110948, 65536, 59.07),
    "multistage_3_stages_latency_1500": (75904, 65536, 86.34),
    "multistage_4_stages_latency_1500": (75184, 65536, 87.17),
    "multistage_5_stages_latency_1500": (75084, 65536, 87.28),
    "multistage_6_stages_latency_1500": (74984, 65536, 87.4),
    "multistage_1_stages_latency_3000": (314368, 65536, 20.85),
    "multistage_2_stages_latency_3000": (158948, 65536, 41.23),
    "multistage_3_stages_latency_3000": (108904, 65536, 60.18),
    "multistage_4_stages_latency_3000": (82924, 65536, 79.03),
    "multistage_5_stages_latency_3000": (76584, 65536, 85.57),
    "multistage_6_stages_latency_3000": (76484, 65536, 85.69),
    "warp_specialized_tma_4_slots": (68294, 65536, 95.96),
    "multistage_4_stages_issue_0": (68284, 65536, 95.98),
    "warp_specialized_cp_async_4_slots_issue_0": (68284, 65536, 95.98),
    "multistage_4_stages_issue_50": (71334, 65536, 91.87),
    "warp_specialized_cp_async_4_slots_issue_50": (68334, 65536, 95.91),
    "multistage_4_stages_issue_100": (74384, 65536, 88.1),
    "warp_specialized_cp_async_4_slots_issue_100": (68384, 65536, 95.84),
    "multistage_4_stages_issue_200": (80484, 65536, 81.43),
    "warp_specialized_cp_async_4_slots_issue_200": (68484, 65536, 95.7),
    "multistage_4_stages_issue_400": (92684, 65536, 70.71),
    "warp_specialized_cp_async_4_slots_issue_400": (68684, 65536, 95.42),
    "multistage_4_stages_issue_800": (118016, 65536, 55.53),
    "warp_specialized_cp_async_4_slots_issue_800": (69084, 65536, 94.86),
    "multistage_4_stages_issue_1500": (162816, 65536, 40.25),
    "warp_specialized_cp_async_4_slots_issue_1500": (99772, 65536, 65.69),
    "half_bandwidth_multistage_4_stages": (102432, 65536, 63.98),
    "half_bandwidth_warp_specialized_4_slots": (102342, 65536, 64.04),
    "persistent_8_tiles_k256_one_consumer": (44486, 32768, 73.66),
    "persistent_8_tiles_k256_pingpong": (35526, 32768, 92.24),
    "persistent_8_tiles_k512_one_consumer": (77254, 65536, 84.83),
    "persistent_8_tiles_k512_pingpong": (68294, 65536, 95.96),
    "persistent_8_tiles_k1024_one_consumer": (142790, 131072, 91.79),
    "persistent_8_tiles_k1024_pingpong": (133830, 131072, 97.94),
    "persistent_8_tiles_k2048_one_consumer": (273862, 262144, 95.72),
    "persistent_8_tiles_k2048_pingpong": (264902, 262144, 98.96),
    "persistent_8_tiles_k4096_one_consumer": (536006, 524288, 97.81),
    "persistent_8_tiles_k4096_pingpong": (527046, 524288, 99.48),
    "persistent_8_tiles_k1024_epilogue_x8_one_consumer": (214470, 131072, 61.11),
    "persistent_8_tiles_k1024_epilogue_x8_pingpong": (142790, 131072, 91.79),
    "cooperative_1_tile_k4096": (68166, 65536, 96.14),
    "cooperative_8_tiles_k256": (43462, 32768, 75.39),
    "cooperative_8_tiles_k512": (76230, 65536, 85.97),
    "cooperative_8_tiles_k1024": (141766, 131072, 92.46),
    "cooperative_8_tiles_k1024_epilogue_x8": (206278, 131072, 63.54),
}
# Percentages as the lecture prints them.
PRINTED = {
    "sync_load": 39.2,
    "register_double_buffer": 57.0,
    "multistage_3_stages": 88.0,
    "warp_specialized_tma_4_slots": 96.0,
    "warp_specialized_cp_async_4_slots_issue_800": 94.9,
    "half_bandwidth_multistage_4_stages": 64.0,
    "half_bandwidth_warp_specialized_4_slots": 64.0,
    "persistent_8_tiles_k256_one_consumer": 73.7,
    "persistent_8_tiles_k256_pingpong": 92.2,
    "persistent_8_tiles_k1024_epilogue_x8_one_consumer": 61.1,
    "persistent_8_tiles_k1024_epilogue_x8_pingpong": 91.8,
}


def test_every_run_of_the_lecture_is_there() -> None:
    assert tuple(run.id for run in lecture_runs()) == tuple(FIGURES)


@pytest.mark.parametrize("run_id", FIGURES)
def test_to_the_cycle(run_id: str) -> None:
    run = lecture_run(run_id)
    total, busy, percent = FIGURES[run_id]
    assert (run.total_cycles, run.tensor_core_busy_cycles) == (total, busy)
    assert run.tensor_core_percent == pytest.approx(percent, abs=0.005)


@pytest.mark.parametrize("run_id", PRINTED)
def test_what_the_lecture_prints(run_id: str) -> None:
    assert round(lecture_run(run_id).tensor_core_percent, 1) == PRINTED[run_id]


def by_consumer(span: Span) -> str:
    """M for the first consumer, m for the second."""
    return "m" if span.role == "consumer1" else "M"


# Unit, glyphs, cycles (0: all of them) and what is drawn.
TIME_LINES: list[tuple[str, str, Glyph, int, str]] = [
    (
        "sync_load",
        "tc",
        first_letter,
        12_000,
        "·········MMMMMMM·········MMMMMM··········MMMMMM·········MMMMMM··········",
    ),
    (
        "sync_load",
        "load",
        first_letter,
        12_000,
        "·LLLL···········LLLLL···········LLLL···········LLLLL···········LLLL·····",
    ),
    (
        "warp_specialized_tma_4_slots",
        "tc",
        first_letter,
        12_000,
        "·········MMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMM",
    ),
    (
        "multistage_4_stages",
        "tc",
        first_letter,
        12_000,
        "·········MMMMMMMMMMMMM·MMMMMM·MMMMMMMMMMMMMMMMMMM·MMMMMM·MMMMMMMMMMMMMMM",
    ),
    (
        "persistent_8_tiles_k512_one_consumer",
        "tc",
        first_letter,
        0,
        "··MMMMMMMM·MMMMMMMMM·MMMMMMMMM·MMMMMMMM··MMMMMMMM··MMMMMMMM·MMMMMMMMM·MMMMMMMMM·",
    ),
    (
        "persistent_8_tiles_k512_pingpong",
        "tc",
        by_consumer,
        0,
        "··MMMMMMMMMmmmmmmmmmmMMMMMMMMMMmmmmmmmmmMMMMMMMMMMmmmmmmmmmMMMMMMMMMMmmmmmmmmmm·",
    ),
]


@pytest.mark.parametrize(("run_id", "unit", "glyph", "until_cycle", "drawn"), TIME_LINES)
def test_the_lectures_time_lines(run_id: str, unit: str, glyph: Glyph, until_cycle: int, drawn: str) -> None:
    timeline = lecture_run(run_id).timeline
    assert text_timeline(timeline, unit, until_cycle or timeline.total_cycles, len(drawn), glyph) == drawn


def test_auto_takes_the_fastest_of_the_lecture() -> None:
    plan = lower(workload("gemm"), load_machine("lecture_sm"))
    assert plan.calls[0].schedule.startswith("cooperative")
    assert simulate(plan.calls[0].program).total_cycles == 68166


def test_a_plan_that_no_h100_holds_is_only_warned_about() -> None:
    machine = load_machine("lecture_sm")
    for options in ({"stages": 5}, {"stages": 6}):
        plan = lower(workload("gemm"), machine, schedule="multistage", options=options)
        assert "at most 4 fit" in plan.warnings[0]
    plan = lower(workload("gemm"), machine, schedule="warp_specialized", options={"slots": 4, "warpgroups": 1})
    assert "needs 288 registers per thread, there is 255" in plan.warnings[0]
    assert lower(workload("gemm"), machine, schedule="multistage", options={"stages": 4}).warnings == ()
