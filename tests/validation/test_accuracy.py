"""How far predictions are off: the figures of a family, a sample of its rows, and what is left out."""

from __future__ import annotations

from functools import partial

import pytest

from experiments.validation.accuracy import accuracy_of, percentile, worst
from experiments.validation.row import Compared, Row
from experiments.validation.sampling import sample
from gpu_model.machine import Machine


def predicted(value: float, machine: Machine) -> float:
    return value


def row(name: str, measured: float = 100.0, gpu: str = "h100_sxm", group: str = "") -> Row:
    return Row(name, gpu, partial(predicted, 1.0), measured, "us", "a test", group, family="gemm")


def compared(*predictions: float) -> list[Compared]:
    return [Compared(row(f"row {number}"), value) for number, value in enumerate(predictions)]


def test_errors_are_of_what_was_measured() -> None:
    assert Compared(row("half", measured=200.0), 100.0).error_percent == pytest.approx(-50)
    assert Compared(row("twice", measured=50.0), 100.0).error_percent == pytest.approx(100)


def test_mean_median_ninetieth_and_bias() -> None:
    # Errors +10, -20, +30, -40 and 0 percent.
    accuracy = accuracy_of(compared(110, 80, 130, 60, 100))
    assert accuracy is not None
    assert accuracy.rows == 5
    assert accuracy.mape_percent == pytest.approx(20)
    assert accuracy.median_percent == pytest.approx(20)
    assert accuracy.bias_percent == pytest.approx(-4)
    # Of the absolute errors 0, 10, 20, 30, 40: nine tenths of the way from the first to the last.
    assert accuracy.p90_percent == pytest.approx(36)


def test_nothing_has_no_accuracy() -> None:
    assert accuracy_of([]) is None


def test_a_percentile_lies_between_its_neighbours_in_proportion() -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], 50) == pytest.approx(2.5)
    assert percentile([7.0], 90) == 7.0


def test_the_worst_rows_come_first_whichever_side_they_are_off() -> None:
    assert [one.predicted for one in worst(compared(110, 80, 130, 60), 3)] == [60, 130, 80]


def test_a_sample_is_the_same_whatever_the_order() -> None:
    rows = [row(f"row {number}", gpu=gpu) for number in range(50) for gpu in ("a100_sxm", "h100_sxm")]
    first, again = sample(rows, 7), sample(rows[::-1], 7)
    assert {(one.machine, one.id) for one in first} == {(one.machine, one.id) for one in again}
    assert [one.machine for one in first].count("a100_sxm") == 7
    assert [one.machine for one in first].count("h100_sxm") == 7
    assert first == [one for one in rows if one in first]
    assert {one.id for one in first} != {f"row {number}" for number in range(7)}


def test_a_sample_of_more_than_there_is_or_of_all_is_everything() -> None:
    rows = [row("a"), row("b")]
    assert sample(rows, 10) == rows
    assert sample(rows, None) == rows
