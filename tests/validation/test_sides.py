"""Rows of GPUs and of RDUs side by side: ranges, rows that are shown beside, and settings of one side or the other."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import pytest

from experiments.text.page import page_text
from experiments.text.validation import validation_parts
from experiments.validate import FamilyResult, Validation
from experiments.validation.accuracy import accuracy_of
from experiments.validation.bands import found_bands
from experiments.validation.export import validation_json
from experiments.validation.overrides import overrides_of
from experiments.validation.row import Compared, Refused, Row
from experiments.validation.runner import outcomes
from gpu_model.machine import Machine as Gpu
from patterns.errors import UserError
from rdu_model.machine import Machine as Rdu


def gpu_bandwidth(machine: Gpu) -> float:
    return machine.hbm_bytes_per_s / 1e12


def rdu_bandwidth(machine: Rdu) -> float:
    return machine.hbm_bytes_per_s / 1e12


def clock_words(machine: Rdu) -> str:
    return f"the clock is {machine.clock_hz / 1e9:g} GHz"


GPU_ROW = Row("gpu", "h100_sxm", partial(gpu_bandwidth), 3.0, "TB/s", "a test", family="launch")
RDU_ROW = Row("rdu", "sn40l", partial(rdu_bandwidth), 2.0, "TB/s", "a test", side="rdu", family="launch")


def ranged(predicted: float) -> Compared:
    return Compared(replace(RDU_ROW, measured=1.5, to=3.0), predicted)


@pytest.mark.parametrize(
    ("predicted", "nearest", "error"), [(1.5, 1.5, 0), (2.2, 2.2, 0), (3.0, 3.0, 0), (1.2, 1.5, -20), (4.5, 3.0, 50)]
)
def test_inside_a_range_is_right_and_outside_the_nearer_end_counts(
    predicted: float, nearest: float, error: float
) -> None:
    assert ranged(predicted).nearest == nearest
    assert ranged(predicted).error_percent == pytest.approx(error)


def test_each_row_is_predicted_on_the_machine_of_its_side() -> None:
    found = [one for one in outcomes([GPU_ROW, RDU_ROW], overrides_of((), (GPU_ROW, RDU_ROW))) if one]
    assert [one.predicted for one in found if isinstance(one, Compared)] == [3.35, 1.8]


def test_a_setting_goes_to_the_side_that_is_written_or_that_has_it_alone() -> None:
    rows = (GPU_ROW, RDU_ROW)
    settings = (("rdu.hbm_bytes_per_s", "1.6 TB/s"), ("pmu_banks", "4"), ("launch_gap_ps", "2 us"))
    found = overrides_of(settings, rows)
    assert found == {"gpu": {"launch_gap_ps": "2 us"}, "rdu": {"hbm_bytes_per_s": "1.6 TB/s", "pmu_banks": "4"}}
    assert [one.predicted for one in outcomes(rows, found) if isinstance(one, Compared)] == [3.35, 1.6]
    assert overrides_of((("hbm_bytes_per_s", "1 TB/s"),), (RDU_ROW,))["rdu"] == {"hbm_bytes_per_s": "1 TB/s"}


def test_a_setting_that_both_sides_have_must_say_which() -> None:
    with pytest.raises(UserError, match=r"write gpu\.hbm_bytes_per_s or rdu\.hbm_bytes_per_s"):
        overrides_of((("hbm_bytes_per_s", "1 TB/s"),), (GPU_ROW, RDU_ROW))
    with pytest.raises(UserError, match="'pmus' is set twice"):
        overrides_of((("pmus", "4"), ("rdu.pmus", "5")), (RDU_ROW,))


def test_what_is_beside_is_shown_and_counted_nowhere() -> None:
    beside = Compared(replace(RDU_ROW, id="other", target=False), 8.0)
    rows = (Compared(RDU_ROW, 1.8), beside)
    result = Validation((FamilyResult("launch", rows, (), 2),), "")
    accuracy = accuracy_of(rows)
    assert accuracy is not None
    assert (accuracy.rows, round(accuracy.mape_percent, 9)) == (1, 10.0)
    assert {band.rows for band in found_bands(result)} == {1}
    text = page_text(validation_parts(result), 100)
    assert text.startswith("Errors of the RDU model")
    farthest, _, others = text.partition("launch: beside, not counted as errors")
    assert "-10.0" in farthest
    assert "other" not in farthest
    assert "+300.0" in others


def test_a_range_a_mark_and_words_are_in_the_data_of_a_row_that_has_them() -> None:
    ((explained,),) = (list(outcomes([replace(RDU_ROW, target=False, explain=partial(clock_words))], {"rdu": {}})),)
    assert isinstance(explained, Compared)
    rows = (ranged(2.0), explained, Compared(GPU_ROW, 3.0))
    data = json.loads(validation_json(Validation((FamilyResult("launch", rows, (), 3),), "")))["rows"]
    assert data[0]["measured"] == [1.5, 3.0]
    assert (data[1]["target"], data[1]["explanation"]) == (False, "the clock is 1.2 GHz")
    assert set(data[2]) == {"family", "id", "predicted", "measured", "unit", "source"}


def test_rows_inside_a_range_stand_in_the_table_too() -> None:
    result = Validation((FamilyResult("launch", (ranged(2.0), Compared(GPU_ROW, 3.3)), (), 2),), "")
    text = page_text(validation_parts(result), 100)
    assert text.startswith("Errors of both models")
    assert "1.5 to 3" in text


def test_what_an_rdu_refuses_is_told() -> None:
    def refuse(machine: Rdu) -> float:
        raise UserError("too large; for a test")

    (found,) = outcomes([replace(RDU_ROW, predict=refuse)], {"rdu": {}})
    assert isinstance(found, Refused)
    assert found.reason == "too large; for a test"
