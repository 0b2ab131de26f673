"""The survey of switching between models: its sums from the machines' numbers, and its sentence from its rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.studies import model_switching as study
from experiments.studies.model_switching import (
    EXPERT,
    HOT_CHIPS,
    LARGER,
    PUBLISHED_REQUEST,
    PUBLISHED_RUN,
    SYSTEMS,
    System,
    implied_run_ms,
    record,
    request_ms,
)
from experiments.survey import Record

EXPERT_BYTES, LARGER_BYTES = 2 * 6_738_415_616, 2 * 8_030_261_248


@pytest.fixture(scope="module")
def rows() -> list[Record]:
    """Of all systems; looped sockets, which are compared with nothing here, as fused ones: those are quick."""
    few = tuple(replace(system, mode="fused") if system.mode == "looped" else system for system in SYSTEMS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "SYSTEMS", few)
        return [record(system) for system in few]


def test_a_copy_takes_its_bytes_at_what_streams_get() -> None:
    found = record(System("sn40l", "", 8))
    assert found["gb_per_s"] == pytest.approx(8 * 200 * 0.625)
    assert found["switch_ms"] == pytest.approx(EXPERT_BYTES / 1e9)
    assert record(System("a100_sxm", "", 8, links=1))["switch_ms"] == pytest.approx(1e3 * EXPERT_BYTES / 32e9)
    slides = record(System("sn40l", "", 16, LARGER, settings=HOT_CHIPS))
    assert slides["switch_ms"] == pytest.approx(1e3 * LARGER_BYTES / 1600e9)
    assert slides["switch_ms"] == pytest.approx(slides["published_switch_ms"], rel=0.01)


def test_room_for_experts_follows_from_capacities(rows: list[Record]) -> None:
    socket, gpu = rows[0], rows[2]
    # The router lies in HBM, too.
    assert socket["experts_in_hbm"] == 8 * 64 * 2**30 // EXPERT_BYTES - 1
    assert socket["experts_behind"] == 8 * 1536 * 2**30 // EXPERT_BYTES
    assert gpu["experts_in_hbm"] == 640 * 10**9 // EXPERT_BYTES - 1
    assert gpu["experts_behind"] == 2 * 10**12 // EXPERT_BYTES
    assert gpu["experts_behind"] == pytest.approx(gpu["published_experts"], rel=0.02)


def test_a_request_is_a_router_and_for_each_prompt_a_switch_and_an_answer(rows: list[Record]) -> None:
    assert request_ms({1: 2.0, 8: 3.0}, 10.0, 8) == 3 + 8 * (10 + 2)
    assert request_ms({1: None, 8: None}, 10.0, 1) is None
    for row in rows[:6]:
        assert row["request_1_ms"] == pytest.approx(2 * row["run_ms"] + row["switch_ms"])
        assert row["request_8_ms"] > 8 * (row["run_ms"] + row["switch_ms"])


def test_published_ratios_say_how_long_an_answer_was() -> None:
    """Made from an answer of 40 ms, a router that takes as long, and switches of 10 and 300 ms."""
    run, ours, theirs = 40.0, 10.0, 300.0
    answers = {1: 2 * run, 8: 9 * run}
    e = PUBLISHED_RUN["a100_sxm"]
    ratios = {
        ("a100_sxm", batch): (e * answers[batch] + batch * theirs) / (answers[batch] + batch * ours) for batch in (1, 8)
    }
    made = [
        {"machine": "sn40l", "model": EXPERT, "links": "DDR", "switch_ms": ours},
        {"machine": "a100_sxm", "model": EXPERT, "links": "1 link", "switch_ms": theirs},
        {"machine": "a100_sxm", "model": EXPERT, "links": "8 links", "switch_ms": 1.0},
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "PUBLISHED_REQUEST", ratios)
        assert implied_run_ms("a100_sxm", made) == pytest.approx(run)


def test_the_sentence_has_the_published_values_beside_ours(rows: list[Record]) -> None:
    sentence = f"{study.finding(rows)} {study.details(rows)}"
    for row in rows[2:4]:
        machine = row["machine"]
        assert f"{machine} {row['switch_ratio']:.1f} ({row['published_switch_ratio']} published)" in sentence
        for batch in (1, 8):
            ours, published = row[f"request_{batch}_ratio"], PUBLISHED_REQUEST[machine, batch]
            assert f"{ours:.1f} " in sentence
            assert f"({published})" in sentence
            # With the published link rates the model is within a tenth of what was published.
            assert ours == pytest.approx(published, rel=0.1)
    assert "19 DGX (19)" in sentence
