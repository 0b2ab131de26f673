"""Charts of records: what is drawn are the rows' numbers, and what cannot be drawn is refused."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import pytest
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from experiments.charting.columns import axis_label, shown
from experiments.charting.sheet import ONE_COLUMN, TWO_COLUMNS
from experiments.picture import Picture, drawn_records, in_style
from experiments.plot.bars import Bars
from experiments.plot.heat_map import HeatMap, short
from experiments.plot.lines import Lines
from experiments.plot.roofline import Frame, overlap
from experiments.plot.spans import Spans
from patterns.errors import UnknownName, UserError
from patterns.pipeline.program import Program
from patterns.pipeline.simulate import simulate
from patterns.pipeline.timeline import Timeline
from tests.pipeline.view_programs import warp_specialized

Record = dict[str, Any]
NAMES = ("$a_1$ <b>", "_private", "long " * 30)
RECORDS: list[Record] = [
    {"mode": name, "batch": batch, "time_us": 10.0 * number + batch, "bound_us": 1.0 + number, "published_us": None}
    for number, name in enumerate(NAMES)
    for batch in (1, 2, 4)
]
RECORDS[4]["published_us"] = 13.5
RECORDS[0]["time_us"] = 0


def both(picture: Picture) -> tuple[Figure, Figure]:
    assert picture.narrow is not None
    return picture.figure, picture.narrow


@pytest.fixture(scope="module", autouse=True)
def style() -> Any:
    with in_style():
        yield


def test_lines_are_the_columns() -> None:
    chart = Lines("l", "batch", "time_us", by="mode", bound="bound_us", marks="published_us")
    picture = chart.draw(RECORDS)
    for figure, width in zip(both(picture), (TWO_COLUMNS, ONE_COLUMN), strict=True):
        assert figure.get_figwidth() == width
        (axes,) = figure.axes
        lines = [(list(map(float, line.get_xdata())), list(map(float, line.get_ydata()))) for line in axes.lines]
        for number, name in enumerate(NAMES):
            own = [row for row in picture.rows if row["mode"] == name]
            assert lines[3 * number] == ([1, 2, 4], [row["time_us"] for row in own])
            assert lines[3 * number + 1] == ([1, 2, 4], [row["bound_us"] for row in own])
        assert lines[5] == ([2], [13.5])
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("batch", "time, us")
    assert [row["time_us"] for row in picture.rows] == [record["time_us"] for record in RECORDS]


@pytest.mark.parametrize(
    ("ends", "named"),
    [((1.0, 5.0), True), ((1.0, 1.01), False), ((1.0, None), False)],
    ids=["apart", "near", "shorter"],
)
def test_lines_are_named_at_their_ends_only_where_that_is_clear(ends: tuple[float | None, ...], named: bool) -> None:
    rows: list[Record] = [
        {"mode": mode, "batch": batch, "time_us": 1.0 if batch == 1 else end}
        for mode, end in zip(("first", "second"), ends, strict=True)
        for batch in (1, 2)
    ]
    wide, narrow = both(Lines("l", "batch", "time_us", by="mode").draw(rows))
    assert [text.get_text() for text in wide.axes[0].texts] == (["first", "second"] if named else [])
    assert bool(wide.legends) is not named
    assert narrow.legends


def test_a_zero_stands_at_the_foot_of_a_logarithmic_axis_and_is_called_so() -> None:
    figure, _ = both(Lines("l", "batch", "time_us", by="mode", x_log=True, y_log=True).draw(RECORDS))
    (axes,) = figure.axes
    first = list(map(float, axes.lines[0].get_ydata()))
    names = dict(zip(axes.get_yticks(), (label.get_text() for label in axes.get_yticklabels()), strict=True))
    assert names[first[0]] == "0"
    assert first[0] == 1.0  # half of the smallest above 0
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2", "4"]


@pytest.mark.parametrize("stacked", [False, True])
def test_bars_are_the_columns(stacked: bool) -> None:
    chart = Bars("b", "batch", ("time_us", "bound_us"), panel="mode", stacked=stacked, marks="published_us")
    picture = chart.draw(RECORDS)
    for figure in both(picture):
        assert len(figure.axes) == len(NAMES)
        for axes, name in zip(figure.axes, NAMES, strict=True):
            own = [row for row in picture.rows if row["mode"] == name]
            bars = [(bar.get_x(), bar.get_width()) for bar in axes.patches]  # type: ignore[attr-defined]
            expected = [
                (row["time_us"] if stacked and column == "bound_us" else 0, row[column])
                for row in own
                for column in ("time_us", "bound_us")
            ]
            assert bars == expected
            written = [text.get_text() for text in axes.texts]
            assert len(written) == (3 if stacked else 6) + 1  # and the name of the panel
        assert [float(v) for v in figure.axes[1].lines[0].get_xdata()] == [13.5]
        assert figure.axes[-1].get_xlabel() == "us"


def test_a_heat_map_has_the_values_in_its_cells_and_a_line_where_they_turn() -> None:
    records = [{"x": x, "y": y, "ratio": x / y} for x in (1, 2, 4) for y in (1, 3) if (x, y) != (4, 3)]
    figure, narrow = both(HeatMap("h", "x", "y", "ratio", log=True, diverging_at=1.0).draw(records))
    for one in (figure, narrow):
        axes = one.axes[0]
        texts = {text.get_position(): text.get_text() for text in axes.texts}
        assert texts == {(0, 0): "1", (1, 0): "2", (2, 0): "4", (0, 1): "0.333", (1, 1): "0.667"}
        # 1 is not below 1; both cells of y = 3 that have a value are, so the line runs under them.
        edges = sorted((tuple(line.get_xdata()), tuple(line.get_ydata())) for line in axes.lines)
        assert edges == [((-0.5, 0.5), (0.5, 0.5)), ((0.5, 1.5), (0.5, 0.5))]


def test_spans_are_on_one_axis_and_every_block_is_a_row() -> None:
    program = warp_specialized()
    timeline = simulate(program)

    def runs() -> list[tuple[str, Program, Timeline, int | None]]:
        return [("slow", program, timeline, 10**9), ("fast", program, timeline, 2 * 10**9)]

    picture = Spans("s", runs).draw(())
    for figure in both(picture):
        slow, fast = figure.axes
        assert slow.get_xlim() == fast.get_xlim()
        assert fast.get_xlabel().startswith("time, ")
        for axes, run in ((slow, "slow"), (fast, "fast")):
            drawn = sorted(
                (float(path.vertices[:, 0].min()), float(path.vertices[:, 0].max()))  # type: ignore[call-overload,index]
                for collection in axes.collections
                if isinstance(collection, PolyCollection)
                for path in collection.get_paths()
            )
            rows = sorted((row["start_us"], row["end_us"]) for row in picture.rows if row["run"] == run)
            assert drawn == rows
    busy: dict[str, int] = {}
    for row in picture.rows:
        if row["run"] == "slow":
            unit = str(row["lane"]).rpartition(": ")[2]
            busy[unit] = busy.get(unit, 0) + int(str(row["busy_cycles"]))
    assert busy == {unit: cycles for unit, cycles in timeline.busy if cycles}


@pytest.mark.parametrize(
    ("chart", "record", "message"),
    [
        (Lines("l", "x", "y"), {"x": 1, "y": nan}, "column y cannot be drawn: it has nan"),
        (Lines("l", "x", "y"), {"x": inf, "y": 1}, "column x cannot be drawn: it has inf"),
        (Lines("l", "x", "y", y_log=True), {"x": 1, "y": -1}, "column y cannot be drawn on a logarithmic axis"),
        (Bars("b", "x", ("y",)), {"x": 1, "y": "much"}, "column y cannot be drawn as a number: it has 'much'"),
        (HeatMap("h", "x", "x", "y"), {"x": 1, "y": nan}, "column y cannot be drawn: it has nan"),
    ],
)
def test_what_is_no_number_is_refused(chart: Any, record: Record, message: str) -> None:
    with pytest.raises(UserError, match=message):
        chart.draw([record])


def test_a_column_that_is_not_there_and_no_rows_are_refused() -> None:
    with pytest.raises(UnknownName, match="time_us"):
        Lines("l", "batch", "time_ms").draw(RECORDS)
    with pytest.raises(UserError, match="no rows"):
        Bars("b", "mode", ("time_us",)).draw([])
    with pytest.raises(UserError, match="there are two"):
        HeatMap("h", "batch", "batch", "bound_us").draw(RECORDS)


def test_one_row_is_drawn_and_files_are_the_same_each_time() -> None:
    charts = (Lines("l", "batch", "time_us", y_log=True), Bars("b", "mode", ("time_us",), log=True))
    first, second = (drawn_records(RECORDS[:1], charts) for _ in range(2))
    assert first == second
    assert len(first) == 14
    heat = HeatMap("h", "batch", "mode", "bound_us", diverging_at=1.0).draw(RECORDS[:1])
    assert len(heat.rows) == 1


def test_names_of_points_are_told_to_lie_on_each_other() -> None:
    frame = Frame((1.0, 100.0), (1.0, 1000.0), 200.0)
    boxes = [frame.box((10.0, y), "four", left=False, above=4.0) for y in (10.0, 11.0, 40.0)]
    assert boxes[0] == pytest.approx((100.0, 100.0 + 4 * 3.6, 190 / 3 + 4, 190 / 3 + 10))
    assert overlap(boxes[0], boxes[1])
    assert not overlap(boxes[0], boxes[2])
    assert not overlap(boxes[0], frame.box((10.0, 10.0), "four", left=True, above=-4.0))


def test_numbers_of_cells_have_three_digits() -> None:
    told = {0.56: "0.560", 1.004: "1.00", 1: "1", 99.96: "100", 65.37: "65.4", 0.0: "0", 0.0041: "4e-3", 12345.6: "12k"}
    assert {value: short(value) for value in told} == told


def test_names_of_columns_for_people() -> None:
    labels = {
        "time_us": "time, us",
        "tokens_per_s": "tokens/s",
        "hbm_gb_per_s": "HBM, GB/s",
        "off_chip_bytes": "off-chip, bytes",
        "energy_j": "energy, J",
        "batch": "batch",
        "calls_per_token": "calls/token",
        "gpu_j_a_token": "GPU, J a token",
        "bytes_a_product_cycle": "bytes a product cycle",
        "tokens_per_s_a_user": "tokens/s a user",
        "calls_a_layer": "calls a layer",
    }
    assert {column: axis_label(column) for column in labels} == labels
    assert len(shown("x" * 99)) < 50
    assert shown("a\nb") == "a b"


def test_more_than_a_picture_can_show_is_refused() -> None:
    many: list[Record] = [{"name": f"n{number}", "x": number, "y": number % 7} for number in range(300)]
    for chart, what in (
        (Bars("b", "name", ("x",)), "300 bars"),
        (Lines("l", "x", "y", by="name"), "300 lines in a panel"),
        (Lines("l", "x", "y", panel="name"), "300 panels"),
        (HeatMap("h", "name", "x", "y"), "90,000 cells"),
    ):
        with pytest.raises(UserError, match=f"{what} are too many for a picture"):
            chart.draw(many)


def test_the_cells_of_a_heat_map_have_its_values_as_colours() -> None:
    records = [{"x": x, "y": y, "v": 10.0 * x + y} for x in (1, 2, 3) for y in (5, 6) if (x, y) != (2, 6)]
    axes = HeatMap("h", "x", "y", "v").draw(records).figure.axes[0]
    (mesh,) = axes.collections
    assert mesh.get_array().tolist() == [[15.0, 25.0, 35.0], [16.0, None, 36.0]]
