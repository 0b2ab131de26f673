"""Pictures of a comparison: nothing is cut off, and every number is the report's."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from experiments.charting.pair import pair, run_name
from experiments.charting.sheet import ONE_COLUMN, TWO_COLUMNS
from experiments.compare import Comparison, compare
from experiments.picture import Picture, in_style, plot_kinds
from experiments.plot.predicted_measured import label_axes
from experiments.request import Request
from patterns.plugin import load_module


@pytest.fixture(scope="module")
def runs() -> Comparison:
    """Attention with all that a run can have: several calls a policy, matrix, vector and special work."""
    small = (("seq", "256"), ("context", "256"))
    return compare(Request("attention", "prefill", policies=("operator", "library"), modes=("looped",), settings=small))


@pytest.fixture(scope="module")
def pictures(runs: Comparison) -> dict[str, Picture]:
    """Every kind's picture, laid out in both widths."""
    with in_style():
        found = {kind: load_module("experiments.plot", kind, "plot").draw(runs) for kind in plot_kinds()}
        for picture in found.values():
            for figure in (picture.figure, picture.narrow):
                FigureCanvasAgg(figure)
                figure.draw_without_rendering()
    return found


def rows_of(picture: Picture, **values: object) -> list[dict[str, Any]]:
    return [row for row in picture.rows if all(row[name] == value for name, value in values.items())]


def test_every_kind_is_drawn_for_one_column_and_for_two(pictures: dict[str, Picture]) -> None:
    for kind, picture in pictures.items():
        assert picture.narrow is not None, kind
        assert (picture.figure.get_figwidth(), picture.narrow.get_figwidth()) == (TWO_COLUMNS, ONE_COLUMN), kind


def test_no_text_is_cut_off(pictures: dict[str, Picture]) -> None:
    cut = [
        (kind, figure.get_figwidth(), text.get_text())
        for kind, picture in pictures.items()
        for figure in (picture.figure, picture.narrow)
        if figure is not None
        for text in outside(figure)
    ]
    assert cut == []


def outside(figure: Figure) -> list[Text]:
    """Texts that are not wholly in the figure; those that a panel clips need not be."""
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    boxes = [(text, text.get_window_extent()) for text in texts if not text.get_clip_on()]
    width, height = figure.bbox.width, figure.bbox.height
    return [t for t, box in boxes if box.x0 < -1 or box.y0 < -1 or box.x1 > width + 1 or box.y1 > height + 1]


def test_the_waterfall_is_the_reports(pictures: dict[str, Picture], runs: Comparison) -> None:
    for outcome in pair(runs):
        report = outcome.report
        *steps, whole = rows_of(pictures["waterfall"], machine=report.machine, mode=report.mode)
        assert {row["step"]: row["time_ps"] for row in steps} == dict(report.waterfall_ps)
        assert all(before["end_s"] == after["start_s"] for before, after in pairwise(steps))
        assert (steps[0]["time_ps"], whole["time_ps"]) == (report.bound_ps, report.time_ps)
        assert steps[-1]["end_s"] == whole["end_s"] == report.time_s


def test_bars_of_the_waterfall_are_its_rows(pictures: dict[str, Picture], runs: Comparison) -> None:
    panels = pictures["waterfall"].figure.axes
    names = {label.get_text().replace(" ", "_") for label in panels[0].get_yticklabels()}
    for axes, outcome in zip(panels, pair(runs), strict=True):
        rows = rows_of(pictures["waterfall"], mode=outcome.report.mode)
        bars = [(bar.get_x(), bar.get_width()) for bar in axes.patches]  # type: ignore[attr-defined]
        shown = [row for row in rows if row["step"] in names]
        factor = bars[-1][1] / rows[-1]["time_s"]
        assert factor in (pytest.approx(1e3), pytest.approx(1e6))
        assert bars == [pytest.approx((row["start_s"] * factor, row["time_s"] * factor)) for row in shown]
        assert sum(row["time_ps"] for row in rows if row not in shown) == 0


def test_calls_add_up_to_what_the_run_computes(pictures: dict[str, Picture], runs: Comparison) -> None:
    for outcome in pair(runs):
        rows = rows_of(pictures["calls"], run=run_name(outcome.report))
        named = outcome.execution.call_named
        spent = sum(named[call.name].duration_ps * call.count for call in outcome.execution.plan.calls)
        assert sum(row["time_ps"] for row in rows) == spent
        assert sum(row["launches"] for row in rows) == outcome.report.calls
        assert all(row["bound_ps"] <= row["time_ps"] for row in rows)
    axes = pictures["calls"].figure.axes[0]
    widths = [bar.get_width() for bar in axes.patches]  # type: ignore[attr-defined]
    first = rows_of(pictures["calls"], run=run_name(pair(runs)[0].report))
    assert widths == pytest.approx([row["time_ps"] * widths[0] / first[0]["time_ps"] for row in first])


def test_traffic_is_the_reports(pictures: dict[str, Picture], runs: Comparison) -> None:
    for report in runs.reports:
        rows = rows_of(pictures["traffic"], run=run_name(report))
        moved = {str(row["level"]).lower(): row["moved_bytes"] for row in rows}
        assert {level: amount for level, amount in moved.items() if amount} == {
            {"onchip": "on-chip"}.get(level, level): amount for level, amount in report.bytes if amount
        }


def test_what_fusion_could_avoid_is_above_the_least_that_traffic_shows(pictures: dict[str, Picture]) -> None:
    for row in rows_of(pictures["fusion"], what="run"):
        (hbm,) = rows_of(pictures["traffic"], run=row["run"], level="HBM")
        assert row["avoidable_bytes"] == max(0, hbm["moved_bytes"] - hbm["least_bytes"])


def test_patterns_of_the_fusion_picture_are_those_of_the_calls(pictures: dict[str, Picture], runs: Comparison) -> None:
    for outcome in runs.outcomes:
        found: dict[str, list[str]] = {}
        for row in rows_of(pictures["fusion"], what="pattern", run=run_name(outcome.report)):
            found.setdefault(row["call"], []).append(row["pattern"])
        assert found == {call.name: list(call.nodes) for call in outcome.execution.plan.calls}


def test_stalls_of_a_role_add_up_to_the_call(pictures: dict[str, Picture]) -> None:
    rows = pictures["stalls"].rows
    roles = {(row["run"], row["call"], row["role"]) for row in rows}
    assert roles
    for run, call, role in roles:
        own = rows_of(pictures["stalls"], run=run, call=call, role=role)
        assert sum(row["percent"] for row in own) == pytest.approx(100)


def test_no_call_is_above_its_roof(pictures: dict[str, Picture]) -> None:
    rows = pictures["roofline"].rows
    points = [row for row in rows if row["limit"]]
    assert points
    for row in points:
        roof = next(r for r in rows_of(pictures["roofline"], run=row["run"]) if r["call"] == "peak roof")
        memory = roof["ops_per_s"] / roof["ops_per_byte"]  # type: ignore[operator]
        assert row["ops_per_s"] <= min(roof["ops_per_s"], row["ops_per_byte"] * memory) * 1.000001  # type: ignore[operator]


def test_the_machines_of_the_overlap_picture_have_one_time_axis(pictures: dict[str, Picture]) -> None:
    gpu, rdu, account = pictures["overlap"].figure.axes
    assert gpu.get_xlim() == rdu.get_xlim()
    assert rdu.get_xlabel() == "time, us"
    assert "%" in account.get_xlabel()
    for axes in (gpu, rdu):
        assert axes.get_yticklabels()[-1].get_text() == "all together"


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(0.7, 4.1, [1, 2, 3]), (1300, 4500, [2000, 3000]), (0.6, 60, [1, 2, 5, 10, 20, 50]), (2, 3000, [10, 100, 1000])],
)
def test_the_narrower_a_range_the_more_ticks_it_has(low: float, high: float, ticks: list[float]) -> None:
    axes = Figure().subplots()
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high))
    label_axes(axes, low, high)
    assert [tick for tick in axes.get_xticks() if tick != pytest.approx(0.7)] == ticks
