"""Studies of a lecture on warp specialisation: their rows are the lecture's figures, and sentences follow the rows.

Cycles are those of the lecture's simulator (CMU 15-779, lecture 6) as its public course notes print them or as they
follow from its rules; rates of attention on an H100 are those of FlashAttention-3's paper (arXiv 2407.08608).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from experiments.charting.reshape import Tall, Where
from experiments.claim import Claim, Found, judged
from experiments.plot.lines import Lines
from experiments.studies import (
    attention_schedules,
    bandwidth_limits,
    exp_across_gpus,
    issue_overhead,
    littles_law,
    multistage_or_warp_specialized,
    occupancy_by_tile,
    persistent_kernels,
    register_budgets,
    schedule_ranking,
    software_pipelining,
    stages_by_latency,
    tile_cycle_budget,
    what_the_lectures_say,
)
from experiments.survey import Record, Survey
from patterns.errors import UnknownName


def said(study: Any, rows: list[Record]) -> str:
    """All that a study says of rows."""
    survey: Survey = study.STUDY
    assert survey.details is not None
    return f"{survey.finding(rows)} {survey.details(rows)}"


def rows_of(study: Any, keep: Mapping[str, Any]) -> list[Record]:
    """The rows of a study's cases whose fields have these values."""
    survey: Survey = study.STUDY
    assert survey.record is not None
    kept = [c for c in survey.listed_cases() if all(getattr(c, name) in wanted for name, wanted in keep.items())]
    return [survey.record(case) for case in kept]


def changed(rows: list[Record], where: Mapping[str, Any], change: Mapping[str, Any]) -> list[Record]:
    """The rows with some columns changed where others have these values."""
    return [row | change if all(row[name] == value for name, value in where.items()) else row for row in rows]


def test_the_budget_of_a_step() -> None:
    rows = rows_of(tile_cycle_budget, {})
    parts = [(row["issue_cycles"], row["transfer_cycles"], row["latency_cycles"], row["mma_cycles"]) for row in rows]
    assert parts == [(100, 768, 700, 1024), (10, 768, 700, 1024)]
    assert [row["total_cycles"] for row in rows] == [167168, 68294]
    # 48 KiB in 3,072 copies of 16 bytes, 32 of them a warp instruction; or one instruction of one thread an operand.
    assert [row["load_instructions"] for row in rows] == [96, 2]
    sentence = said(tile_cycle_budget, rows)
    assert "39.5 %" in sentence
    assert "35.8 us" in sentence
    assert "the tensor core would be the limit" in sentence
    slow = [row | {"transfer_cycles": 1536} for row in rows]
    assert "the load path would be the limit" in tile_cycle_budget.finding(slow)


def test_littles_law_is_what_a_load_path_does() -> None:
    rows = rows_of(littles_law, {"id": ("24 KiB", "48 KiB")})
    # 64 B/cycle x 700 cycles; a ring of one 48 KiB slot moves for 768 of 10 + 768 + 700 + 1 cycles.
    assert rows[0]["needed_in_flight_bytes"] == 44_800
    one = next(row for row in rows if (row["slot"], row["slots"]) == ("48 KiB", 1))
    assert one["bound_percent"] == pytest.approx(100 * 768 / 1479)
    assert all(row["load_path_percent"] == pytest.approx(row["bound_percent"], abs=0.5) for row in rows)
    assert "3 slots of 24 KiB (72 KiB), 2 slots of 48 KiB (96 KiB)" in littles_law.finding(rows)


def test_ways_to_pipeline() -> None:
    rows = rows_of(software_pipelining, {})
    cycles = [167168, 114944, 167168, 85348, 74484, 74384, 74284, 74184]
    assert [row["total_cycles"] for row in rows] == cycles
    sentence = software_pipelining.finding(rows)
    for told in ("39.2 %", "57.0 %", "88.0 % with 3 stages", "96 of each thread", "Beyond 91.1 %"):
        assert told in sentence
    assert "with 2 stages" in software_pipelining.finding(changed(rows, {"stages": 2}, {"tensor_core_percent": 88.0}))


def test_stages_by_latency() -> None:
    rows = rows_of(stages_by_latency, {"load_latency_cycles": (300, 700, 1500, 3000)})
    assert [row["stages_simulated"] for row in rows] == [2, 3, 4, 5]
    assert [row["stages_by_the_formula"] for row in rows] == [3, 3, 4, 5]
    assert [row["stages_without_the_issue"] for row in rows] == [2, 3, 4, 5]
    sentence = said(stages_by_latency, rows)
    assert "at 3 of 4 latencies, more at 300 cycles" in sentence
    assert "gives what a run needs at 4 of 4 latencies:" in sentence
    planted = changed(rows, {"latency_cycles": 3000}, {"stages_simulated": 6})
    assert "more at 300 cycles, fewer at 3,000 cycles" in said(stages_by_latency, planted)


def test_a_producer_against_a_pipeline() -> None:
    rows = rows_of(multistage_or_warp_specialized, {})
    at = {(row["way"], row["slots"]): row["total_cycles"] for row in rows}
    assert at["multistage, cp.async", 4] == 74384
    assert at["warp-specialized, TMA", 4] == 68294
    assert at["warp-specialized, cp.async", 4] == 68384
    assert "at no depth behind" in multistage_or_warp_specialized.finding(rows)
    planted = changed(rows, {"way": "warp-specialized, TMA", "slots": 2}, {"tensor_core_percent": 10.0})
    assert "The producer is behind with 2" in multistage_or_warp_specialized.finding(planted)


def test_issue_costs() -> None:
    rows = rows_of(issue_overhead, {})
    at = {(row["way"], row["issue_cycles"]): row["total_cycles"] for row in rows}
    multistage = {0: 68284, 50: 71334, 100: 74384, 200: 80484, 400: 92684, 800: 118016, 1500: 162816}
    producer = {0: 68284, 50: 68334, 100: 68384, 200: 68484, 400: 68684, 800: 69084, 1500: 99772}
    assert {issue: at["multistage", issue] for issue in multistage} == multistage
    assert {issue: at["warp-specialized", issue] for issue in producer} == producer
    sentence = issue_overhead.finding(rows)
    assert "the two are alike (96.0 %)" in sentence
    assert "hides up to 1,024 of a step's 1,024 cycles" in sentence


def test_bandwidth() -> None:
    rows = rows_of(bandwidth_limits, {"columns": (256,)})
    half = {row["way"]: row["total_cycles"] for row in rows if row["load_bytes_per_cycle"] == 32}
    assert half == {"multistage": 102432, "warp-specialized": 102342}
    # 1,024 of 1,536 cycles a step.
    bounds = [row["bound_percent"] for row in rows if row["load_bytes_per_cycle"] == 32]
    assert bounds == pytest.approx([200 / 3] * 2)
    # 128 x 256 x 64 in 1024 cycles uses 48 KiB of operands.
    assert "48 (128x256)" in bandwidth_limits.finding(rows)


def test_persistent_kernels() -> None:
    rows = rows_of(persistent_kernels, {})
    at = {(row["way"], row["epilogue"], row["k"]): row["total_cycles"] for row in rows}
    assert [at["one consumer", "x1", k] for k in (256, 512, 4096)] == [44486, 77254, 536006]
    assert [at["ping-pong", "x1", k] for k in (256, 512, 4096)] == [35526, 68294, 527046]
    assert [at["cooperative", "x1", k] for k in (256, 512, 1024)] == [43462, 76230, 141766]
    assert [at[way, "x8", 1024] for way in persistent_kernels.WAYS] == [214470, 206278, 142790]
    busy = {(row["way"], row["epilogue"], row["k"]): row["tensor_core_percent"] for row in rows}
    gains = [busy["ping-pong", *at] - busy["cooperative", *at] for at in {(weight, k) for _, weight, k in busy}]
    sentence = said(persistent_kernels, rows)
    assert f"best for every K and every epilogue: {min(gains):.1f} to {max(gains):.1f} points over" in sentence
    planted = changed(rows, {"way": "cooperative", "epilogue": "x4", "k": 512}, {"tensor_core_percent": 99.0})
    assert "everywhere but cooperative at K = 512 and x4" in persistent_kernels.finding(planted)


def test_attention_beside_its_paper() -> None:
    rows = rows_of(attention_schedules, {})
    lecture = {row["overlap"]: round(row["lecture_percent"], 1) for row in rows}
    assert lecture == {"serial": 57.1, "ping-pong": 98.5, "inside a warpgroup": 79.0, "both overlaps": 99.2}
    published = [row["published_tflops_per_s"] for row in rows]
    assert published == [None, 582, 570, 661, 570, 630, None, None]
    sentence = said(attention_schedules, rows)
    assert "67 % measured" in sentence
    # 661 / 582, 661 / 570 and 630 / 570.
    for told in ("(published +14 %)", "(published +16 %)", "(published +11 %)"):
        assert told in sentence
    assert "within 50 %" in said(
        attention_schedules, changed(rows, {"published_tflops_per_s": 661}, {"h100_tflops_per_s": 330.5})
    )


def test_exp_by_generation() -> None:
    rows = rows_of(exp_across_gpus, {"product_cycles": (256, 512, 1024)})
    plain = {(row["gpu"], row["schedule"]): row["total_cycles"] for row in rows if not row["polynomial_share"]}
    assert [plain["A100", way] for way in ("serial", "both overlaps")] == [90112, 65536]
    assert [plain["B200", way] for way in ("serial", "ping-pong", "both overlaps")] == [40960, 20992, 17152]
    ratios = {row["gpu"]: row["exp_of_gemm"] for row in rows if not row["polynomial_share"]}
    assert ratios == {"A100": 0.25, "H100": 0.5, "B200": 1.0, "H100 fp8": 1.0}
    # One after another: products of 512 cycles, half of 512 for exp while the FMA units do the rest, 256 of others.
    half = next(r for r in rows if (r["gpu"], r["schedule"], r["polynomial_share"]) == ("B200", "serial", 0.5))
    assert half["total_cycles"] == 32 * (512 + 256 + 256)
    assert "become 97 % with ping-pong where 50 % of them move" in said(exp_across_gpus, rows)


def test_registers() -> None:
    rows = rows_of(register_budgets, {})
    two = next(row for row in rows if (row["tile"], row["consumers"]) == ("128x256", 2))
    given = [two[f"if_producer_has_{kept}"] for kept in (24, 40)]
    assert (two["even_split"], two["left_of_it"], *given) == (168, 40, 240, 232)
    lacking = {row["row"]: row["lacks"] for row in rows if row["row"] != "-" and row["lacks"] != "-"}
    smem, registers = "bytes of shared memory", "registers per thread"
    assert lacking == {
        "multistage, 5 stages": smem,
        "multistage, 6 stages": smem,
        "one consumer": registers,
        "ping-pong": registers,
    }
    sentence = said(register_budgets, changed(rows, {"row": "ping-pong"}, {"lacks": "-"}))
    assert "one consumer (288 registers a thread, 255 there)" in sentence
    assert "ping-pong" not in sentence


def test_occupancy() -> None:
    rows = rows_of(occupancy_by_tile, {"rows": (128, 256), "columns": (128, 256)})
    # 65,536 registers hold 2 CTAs of 128 threads with 160 each beside 96 KiB of 227 each; 255 are the most of a thread.
    assert [(row["ctas"], row["limit"]) for row in rows] == [
        (2, "shared memory"),
        (1, "registers"),
        (1, "registers"),
        (0, "registers per thread"),
    ]
    assert "no CTA fits, by registers per thread: 256x256" in said(occupancy_by_tile, rows)


def test_rankings_hold_or_turn() -> None:
    rows = rows_of(schedule_ranking, {"contest": ("attention",), "parameter": ("as assumed", "exp")})
    assert "attention (serial < inside a warpgroup < ping-pong < both overlaps): 2 of 2 changes" in said(
        schedule_ranking, rows
    )
    where = {"change": "exp x 2", "schedule": "serial"}
    planted = said(schedule_ranking, changed(rows, where, {"tensor_core_percent": 60.0}))
    assert (
        "1 of 2 changes leave it as it is; exp x 2 turns serial above inside a warpgroup (60.0 and 56.6 %)" in planted
    )


def test_claims_are_judged_by_what_is_found() -> None:
    rows = rows_of(what_the_lectures_say, {"file": ("loads_and_stages",)})
    assert {row["verdict"] for row in rows} == {"holds", "holds where"}
    assert "none fails" in what_the_lectures_say.finding(rows)
    planted = changed(rows, {"claim": rows[3]["claim"]}, {"verdict": "does not hold"})
    assert "1 under none" in what_the_lectures_say.finding(planted)
    assert f"does not hold: {rows[3]['claim']} (" in what_the_lectures_say.details(planted)
    assert what_the_lectures_say.details(rows) == ""
    claim = Claim("half", "50 %", lambda: Found("50.04 %", "always", 50.04), 50.0)
    assert judged(claim, claim.find()) == "holds"
    assert judged(replace(claim, places=2), claim.find()) == "no"


def test_charts_of_some_rows_and_of_columns() -> None:
    lines = Lines("speeds", x="n", y="speed", by="who")
    rows: list[Record] = [{"n": n, "a": n + 1, "b": 2 * n, "speed": n, "who": who} for n in (1, 2) for who in "xy"]
    kept = Where(lines, (("who", "x"), ("n", 2))).draw(rows).rows
    assert [(row["who"], row["n"]) for row in kept] == [("x", 2)]
    tall = Tall(lines, (("a", "first"), ("b", "second")), into="who", value="speed")
    drawn = [(row["n"], row["who"], row["speed"]) for row in tall.draw(rows[::2]).rows]
    assert drawn == [(1, "first", 2), (2, "first", 3), (1, "second", 2), (2, "second", 4)]
    with pytest.raises(UnknownName, match="whom"):
        Where(lines, (("whom", "x"),)).draw(rows)
