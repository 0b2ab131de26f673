"""The survey of what a layer takes beside its bytes: its sums, and its sentence from its rows."""

from __future__ import annotations

import pytest

from experiments.studies.fixed_time_per_layer import PUBLISHED_US, STUDY, cases, record
from experiments.survey import Record, records_table


def row(machine: str, model: str, members: int) -> Record | None:
    """The row of one of the survey's cases."""
    (case,) = [c for c in cases() if (c.machine, c.workload, c.members) == (machine, model, members)]
    return record(case)


def test_bytes_and_layers_add_up_to_the_token() -> None:
    found = row("sn40l", "llama-3.1-8b", 8)
    assert found is not None
    assert found["bytes_ms"] + found["layers"] * found["layer_us"] / 1e3 == pytest.approx(found["token_ms"])
    # Weights but the embedding, and 1,024 tokens of cache, an eighth each, at what streams get.
    assert found["bytes_ms"] == pytest.approx(1e3 * (15.01e9 + 0.134e9) / 8 / streams_get("sn40l"), rel=3e-3)
    assert found["published_layer_us"] == 10.7


def streams_get(machine: str) -> float:
    from rdu_model import load_machine

    sn40l = load_machine(machine)
    return float(sn40l.hbm_efficiency) * sn40l.hbm_bytes_per_s


def test_what_has_no_room_is_left_out() -> None:
    assert row("h100_sxm", "llama-3.1-70b", 1) is None
    assert row("sn40l", "llama-3.1-70b", 1) is None


def test_the_sentence_has_the_published_values_beside_ours() -> None:
    rows = [
        row(machine, model, members)
        for machine in ("sn40l", "h100_sxm")
        for model, members in (("llama-3.1-8b", 4), ("llama-3.1-8b", 8))
    ]
    assert STUDY.details is not None
    sentence = STUDY.details([one for one in rows if one])
    for one in rows:
        assert one is not None
        published = PUBLISHED_US.get((one["machine"], one["model"], one["members"]))
        shown = f"{one['model']} on {one['members']} x {one['machine']} {published} us (here {one['layer_us']:.1f})"
        assert (shown in sentence) is (published is not None)
    # A looped layer costs far less beside its bytes than a layer of kernels does.
    assert rows[1] is not None
    assert rows[3] is not None
    assert rows[1]["layer_us"] * 3 < rows[3]["layer_us"]


def test_a_table_of_records_has_words_left_and_nothing_as_a_dash() -> None:
    table = records_table([{"name": "a", "many": 1234, "us": None}, {"name": "b", "many": 5, "us": 1.5}], 1)
    assert table.rows == (("a", "1,234", "-"), ("b", "5", "1.500"))
    assert [column.right for column in table.columns] == [False, True, True]
