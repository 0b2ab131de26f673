"""Families of RDU measurements: what each predicts, by hand, and what it says of a difference."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.families import rdu_counts, rdu_decode, rdu_modes, rdu_prefill, rdu_rates, rdu_use
from experiments.validation.family import rows_of
from experiments.validation.published import Figure, published
from experiments.validation.rdu_llama import Phase, calls_of, executed, phase_ms
from experiments.validation.row import Compared
from experiments.validation.runner import outcomes
from experiments.validation.tables import Tables
from patterns.library import workload
from rdu_model import load_machine

SN40L = load_machine("sn40l")
EIGHT = Phase("llama-3.1-8b", "decode", 1, 1025, 8)


def figure(table: str, name: str, **changes: object) -> Figure:
    """A row of a table, with cells replaced."""
    found = next(one for one in published(table) if one.id == name)
    return replace(found, cells={**found.cells, **changes})  # type: ignore[dict-item]


def test_a_request_is_the_endpoint_a_prefill_and_a_step_for_every_further_token() -> None:
    asked = figure("rdu_decode", "llama-3-8b-1024-b1")
    first, last = phase_ms(EIGHT, SN40L), phase_ms(replace(EIGHT, context=2047), SN40L)
    prefill = phase_ms(replace(EIGHT, phase="prefill", context=1024), SN40L)
    seconds = (35 + prefill + 1023 * (first + last) / 2) / 1e3
    assert first < last
    assert rdu_decode.request_s(asked, SN40L) == pytest.approx(seconds)
    assert rdu_decode.tokens_per_s(asked, SN40L) == pytest.approx(2048 / seconds)
    later = figure("rdu_decode", "llama-3-8b-1024-b1", endpoint_ms=135)
    assert rdu_decode.request_s(later, SN40L) == pytest.approx(seconds + 0.1)


def errors_of(family: str, *left: str) -> dict[str, float]:
    """Errors of a family's targets, by row; those whose names end so are left to the benchmarks."""
    rows = [row for row in rows_of(family, Tables()) if row.target and not row.id.endswith(left)]
    found = [one for one in outcomes(rows, {"rdu": {}}, 1) if isinstance(one, Compared)]
    assert len(found) == len(rows)
    return {one.row.id: one.error_percent for one in found}


def test_decode_at_batch_one_is_within_five_percent() -> None:
    errors = errors_of("rdu_decode", "-512-b1", "8b-2048-b1", "70b-128-b1")
    assert len(errors) == 4
    assert {name: round(error, 1) for name, error in errors.items() if abs(error) > 5} == {}


def test_ways_to_call_are_inside_the_published_ranges_but_for_one() -> None:
    outside = {name for name, error in errors_of("rdu_modes", "prefill-70b").items() if error}
    # A host that is slow enough for the decode of 70B would be too slow for the prefill of 7B.
    assert outside <= {"hardware-over-software-decode-70b"}


def test_requests_of_a_batch_share_their_steps() -> None:
    one, sixteen = (figure("rdu_decode", f"llama-3-8b-128-b{batch}") for batch in (1, 16))
    assert rdu_decode.tokens_per_s(sixteen, SN40L) > 8 * rdu_decode.tokens_per_s(one, SN40L)
    targets = {row.target for row in rdu_decode.rows(Tables()) if row.group.endswith("batch 16")}
    assert targets == {False}


def test_a_speedup_is_the_time_of_the_slower_way_over_that_of_the_faster_one() -> None:
    asked = figure("rdu_modes", "hardware-over-software-decode-7b")
    decode = replace(EIGHT, model="llama-2-7b", context=4096)
    slower, faster = (phase_ms(decode, SN40L, "fused", by) for by in ("software", "hardware"))
    assert rdu_modes.speedup(asked, SN40L) == pytest.approx(slower / faster)
    # 34 calls by the host or by the AGCUs: three commands each.
    host = 3 * 34 * SN40L.software_execute_ps / 1e9
    assert slower == pytest.approx(host + faster - 3 * 34 * SN40L.hardware_execute_ps / 1e9)


def test_calls_are_counted_and_told() -> None:
    asked = figure("rdu_modes", "operator-over-fused-calls-7b")
    prefill = Phase("llama-2-7b", "prefill", 1, 4096, 8)
    operator, fused = (calls_of(prefill, SN40L, mode) for mode in ("operator", "fused"))
    assert (operator, rdu_modes.calls_ratio(asked, SN40L)) == (614, pytest.approx(614 / fused))
    assert rdu_modes.calls_words(asked, SN40L).startswith(f"614 calls over {fused}.")


def test_the_use_of_hbm_is_of_the_decoders_call_and_its_idle_time_is_told() -> None:
    asked = figure("rdu_use", "hbm-7b-8-sockets-fused")
    execution = executed(replace(EIGHT, model="llama-2-7b", context=4096), "fused", "hardware", SN40L)
    call, run = execution.plan.calls[1], execution.calls[1]
    assert call.block == "decoder"
    moved = dict(call.traffic)["hbm"] / (run.duration_ps / 1e12)
    assert rdu_use.hbm_percent(asked, SN40L) == pytest.approx(100 * moved / 1.8e12)
    idle = 1 - run.timeline.busy_cycles["hbm"] / run.timeline.total_cycles
    assert f"idle for {100 * idle:.1f} % of the call" in rdu_use.hbm_words(asked, SN40L)
    # What is moved while it is busy is what streams get, but for the whole cycles that each tile takes.
    assert moved / 1.8e12 == pytest.approx(float(SN40L.hbm_efficiency) * (1 - idle), rel=0.02)


def test_units_in_use_are_those_of_the_decoders_section() -> None:
    pcus = rdu_use.pcus_percent(figure("rdu_use", "pcus-7b-8-sockets"), SN40L)
    pmus = rdu_use.pmus_percent(figure("rdu_use", "pmus-7b-8-sockets"), SN40L)
    assert 80 < pcus <= 90
    assert 20 < pmus <= 90
    words = rdu_use.pmus_words(figure("rdu_use", "pmus-7b-8-sockets"), SN40L)
    assert words.startswith(f"{round(pmus * 1040 / 100)} PMUs hold ")


def test_the_first_token_waits_for_all_prompts_and_says_what_one_after_another_would_be() -> None:
    asked = figure("rdu_prefill", "llama-3-8b-1024-b16")
    together = phase_ms(Phase("llama-3.1-8b", "prefill", 16, 1024, 8), SN40L)
    assert rdu_prefill.first_token_s(asked, SN40L) == pytest.approx((35 + together) / 1e3)
    alone = phase_ms(Phase("llama-3.1-8b", "prefill", 1, 1024, 8), SN40L)
    assert f"{(35 + 16 * alone) / 1e3:.2f} s" in rdu_prefill.first_token_words(asked, SN40L)
    # 16,384 tokens of 7.0e9 weights in layers, an eighth each, and attention over them, in 0.42 s.
    assert "the measured time is 11 % of the peak of 8 sockets" in rdu_prefill.first_token_words(asked, SN40L)


def test_a_part_of_the_peak_is_what_the_bytes_alone_would_take() -> None:
    asked = figure("rdu_rates", "peak-8b-8-sockets")
    report = rdu_rates.step(asked, SN40L)
    assert report.bound == "hbm_bytes"
    # Weights but the embedding, and a cache of 0.54 GB, an eighth each, at 1.8 TB/s.
    assert report.bound_s == pytest.approx((15.01e9 + 0.537e9) / 8 / 1.8e12, rel=2e-3)
    assert rdu_rates.roofline_percent(asked, SN40L) == pytest.approx(100 * report.bound_s / report.time_s)
    assert rdu_rates.tokens_per_s(asked, SN40L) == pytest.approx(1 / report.time_s)
    of_rack = 100 * report.bound_s / report.time_s * 1.8 / 1.6
    assert f"it would be {of_rack:.0f} %" in rdu_rates.words(asked, SN40L)


def test_the_published_counts_of_a_token_are_those_of_the_graph() -> None:
    graph = workload("llama-3.1-8b", context=4096)
    assert rdu_counts.parameters_gib(graph) == pytest.approx(8.03e9 * 2 / 2**30, rel=1e-3)
    # 32 layers of keys and values of 8 heads of 128, 2 bytes each.
    assert rdu_counts.cache_gib(graph) == 32 * 2 * 4096 * 8 * 128 * 2 / 2**30 == 0.5
    # Two operations a weight but the embedding's, and four a head, position and element of attention.
    products = 2 * 7.505e9 + 4 * 32 * 32 * 4096 * 128
    assert rdu_counts.gflops(graph) == pytest.approx(products / 1e9, rel=0.02)
    assert rdu_counts.intensity(graph) == pytest.approx(1.04, abs=0.01)
