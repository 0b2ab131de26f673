"""Which points a sweep has: laws of the series, of grid, zip and list, and of the filter."""

from __future__ import annotations

from itertools import pairwise, product
from math import isclose
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.sweep.expansion import MOST_POINTS, expand, points_that_pass
from experiments.sweep.fields import Place
from experiments.sweep.read import Columns, Sweep, read_sweep
from experiments.sweep.values import values_of
from experiments.sweep.where import holds, parse_filter
from patterns.errors import UserError
from tests.sweep.sweeps import written

ENDS = st.integers(1, 10**6)
NAMES = ("batch", "context", "seed", "members")
COLUMNS = st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=4), max_size=3)


def made(grid: Columns, zipped: Columns = (), listed: tuple[tuple[tuple[str, int], ...], ...] = ()) -> Sweep:
    """A sweep of these columns over softmax on one machine."""
    fixed = (("workload", "softmax"), ("machine", "h100_sxm"))
    places = tuple((name, Place("field", name)) for name in ("workload", "machine", *NAMES))
    return Sweep("made", "", Path(), fixed, listed, zipped, grid, (), (), places)


@settings(max_examples=40)
@given(COLUMNS)
def test_a_grid_is_every_combination_once_the_last_field_fastest(columns: list[list[int]]) -> None:
    grid = tuple((name, tuple(values)) for name, values in zip(NAMES, columns, strict=False))
    cases = expand(made(grid))
    assert [tuple(value for _, value in case.parameters[2:]) for case in cases] == list(product(*columns))
    assert [case.position for case in cases] == list(range(len(cases)))
    assert len(cases) == points_that_pass(made(grid))


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=5), st.integers(1, 3))
def test_zip_moves_together_inside_list_and_outside_grid(pairs: list[tuple[int, int]], rows: int) -> None:
    zipped = tuple((name, tuple(pair[i] for pair in pairs)) for i, name in enumerate(NAMES[:2]))
    listed = tuple((("seed", row),) for row in range(rows))
    cases = expand(made((("members", (1, 2)),), zipped, listed))
    found = [(c.point.seed, (c.point.batch, c.point.context), c.point.members) for c in cases]
    assert found == list(product(range(rows), pairs, (1, 2)))


@settings(max_examples=40)
@given(ENDS, ENDS, st.integers(2, 30))
def test_series_begin_and_end_where_they_say(first: int, last: int, count: int) -> None:
    for name in ("linspace", "logspace"):
        found = values_of({name: [first, last, count]})
        assert found[0] == first
        assert found[-1] == last
        assert len(found) == len(set(found)) <= count
        assert all(isinstance(value, int) for value in found)
        assert list(found) == sorted(found, reverse=last < first)
        exact = values_of({name: [float(first), float(last), count]})
        assert len(exact) == count
    steps = [b / a for a, b in pairwise(exact)]  # type: ignore[operator]
    assert all(isclose(step, steps[0], rel_tol=1e-9) for step in steps)


@settings(max_examples=40)
@given(ENDS, ENDS)
def test_pow2_doubles_and_range_steps(first: int, more: int) -> None:
    doubled = values_of({"pow2": [first, first + more]})
    assert all(b == 2 * a for a, b in pairwise(doubled))  # type: ignore[operator]
    assert doubled[-1] <= first + more < 2 * doubled[-1]  # type: ignore[operator]
    assert values_of({"range": [first, first + 7 * 3, 7]}) == (first, first + 7, first + 14, first + 21)
    assert values_of({"range": [first + 2, first, -1]}) == (first + 2, first + 1, first)


@pytest.mark.parametrize(
    ("series", "values"),
    [
        ({"linspace": ["2 TB/s", "8 TB/s", 4]}, ("2 TB/s", "4 TB/s", "6 TB/s", "8 TB/s")),
        ({"linspace": ["1 GHz", "2 GHz", 3]}, ("1 GHz", "1.5 GHz", "2 GHz")),
        ({"pow2": ["16 KiB", "64 KiB"]}, ("16 KiB", "32 KiB", "64 KiB")),
        ({"logspace": [1, 1000, 4]}, (1, 10, 100, 1000)),
        ({"logspace": [1, 4, 9]}, (1, 2, 3, 4)),
        ({"linspace": [0.0, 1.0, 3]}, (0.0, 0.5, 1.0)),
        ({"linspace": [3, 9, 1]}, (3,)),
        (7, (7,)),
        (["a", 1, 0.5], ("a", 1, 0.5)),
    ],
)
def test_a_series_by_hand(series: object, values: tuple[object, ...]) -> None:
    assert values_of(series) == values


GIVEN = {"batch": 4, "context": 1024, "machine": "sn40l", "gpu_hbm_bytes_per_s": "3.35 TB/s", "mode": None}


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("batch * context <= 4096", True),
        ("batch * context < 4096", False),
        ("1 < batch < 5 <= context", True),
        ('machine == "sn40l" and not batch > 4', True),
        ("batch == 4 and context == 1", False),
        ('machine in ["h100_sxm", "b200"] or batch == 3', False),
        ('machine not in ("h100_sxm", "b200")', True),
        ("gpu.hbm_bytes_per_s >= 3.35e12", True),
        ("gpu.hbm_bytes_per_s / 1e12 > 3.35", False),
        ("log2(context) == 10", True),
        ('mode == ""', True),
        ("batch == 4\n  and context == 1024\n", True),
    ],
)
def test_a_filter(text: str, passes: bool) -> None:
    assert holds(parse_filter(text), GIVEN) is passes


@pytest.mark.parametrize("text", ["machine < 3", "batch in 4", "batch / (batch - 4) > 1"])
def test_a_filter_that_fails_says_of_which_point(text: str, tmp_path: Path) -> None:
    sweep = f"fixed: {{workload: softmax, machine: sn40l}}\ngrid: {{batch: [4]}}\nwhere: {text}\n"
    with pytest.raises(UserError, match=r"cheap.yaml:3:8: where: .* \(of workload softmax, machine sn40l, batch 4\)"):
        expand(read_sweep(written(tmp_path, sweep)))


@pytest.mark.parametrize(
    "series",
    [
        {"pow2": ["1", "1e999"]},
        {"pow2": ["1e999", "2e999"]},
        {"range": ["1e999", "2e999", "1e999"]},
        {"logspace": [1e-300, 1e300, 5]},
    ],
)
def test_a_series_of_what_no_number_holds_is_told(series: object) -> None:
    with pytest.raises(ValueError, match="is more than a number holds"):
        values_of(series)


def test_points_are_counted_without_making_them(monkeypatch: pytest.MonkeyPatch) -> None:
    thousand = tuple(range(1, 1001))
    most = made((("batch", thousand), ("context", thousand)))
    monkeypatch.setattr("experiments.sweep.expansion._combined", None)
    assert points_that_pass(most) == MOST_POINTS


def test_too_many_points_are_refused_before_any_is_made() -> None:
    thousand = tuple(range(1, 1002))
    with pytest.raises(UserError, match=f"1,002,001 points; at most {MOST_POINTS:,}"):
        expand(made((("batch", thousand), ("context", thousand))))


def test_places_of_fields(tmp_path: Path) -> None:
    text = """
    fixed: {workload: softmax, policy: pattern, stages: 3, sm_count: 64, rows: 8}
    grid: {machine: [h100_sxm], graph.columns: [4]}
    """
    (case,) = expand(read_sweep(written(tmp_path, text)))
    assert case.point.mode == "pattern"
    assert case.point.options == (("stages", "3"),)
    assert case.point.settings == (("gpu.sm_count", "64"), ("graph.rows", "8"), ("graph.columns", "4"))
