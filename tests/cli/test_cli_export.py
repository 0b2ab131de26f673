"""JSON, CSV, trace and pictures of a comparison: complete, exact, the same every time."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from experiments.export import LEVELS, records_csv, reports_csv, reports_json
from experiments.picture import METADATA, drawn, in_style, saved
from experiments.plot import fusion, overlap
from patterns.report import OVERLAP_PARTS, PICOSECONDS, WATERFALL_PARTS

if TYPE_CHECKING:
    from experiments.compare import Comparison

KEYS = [
    *("machine", "mode", "members", "calls", "calls_per_layer", "time_s", "bound_s"),
    *("bytes", "overlap", "waterfall"),
    *("energy", "error_band_percent", "error_bands", "off_chip", "memories"),
]


def test_json_has_exactly_the_keys_that_are_promised(comparison: Comparison) -> None:
    data = json.loads(reports_json(comparison.outcomes))
    assert list(data) == ["reports"]
    assert [record["members"] for record in data["reports"]] == [report.members for report in comparison.reports]
    for record in data["reports"]:
        assert list(record) == KEYS
        assert list(record["bytes"]) == list(LEVELS)
        assert list(record["overlap"]) == list(OVERLAP_PARTS)
        assert list(record["waterfall"]) == list(WATERFALL_PARTS)


def test_json_parts_add_up_to_the_time(comparison: Comparison) -> None:
    for record in json.loads(reports_json(comparison.outcomes))["reports"]:
        for account in ("overlap", "waterfall"):
            assert sum(record[account].values()) == pytest.approx(record["time_s"], rel=1e-12)


def test_json_off_chip_bytes_add_up_to_those_of_the_levels() -> None:
    from experiments.compare import compare
    from experiments.request import Request

    small = (("rows", "64"), ("columns", "512"), ("rdu.hbm_bytes", "100 kB"))
    found = compare(Request("softmax", policies=("library",), settings=small))
    for record in json.loads(reports_json(found.outcomes))["reports"]:
        if record["machine"] != found.request.rdu:
            assert record["off_chip"] == record["memories"] == []
            continue
        for level in ("hbm", "ddr"):
            moved = [row["num_bytes"] for row in record["off_chip"] if row["level"] == level]
            assert sum(moved) == record["bytes"][level] > 0
        for room in record["memories"]:
            assert max(room["held"].values()) <= room["taken_bytes"] <= room["num_bytes"]


def test_csv_has_a_row_for_every_report_and_the_same_numbers(comparison: Comparison) -> None:
    rows = list(csv.DictReader(io.StringIO(reports_csv(comparison.outcomes))))
    assert [(row["machine"], row["mode"]) for row in rows] == [(r.machine, r.mode) for r in comparison.reports]
    for row, report in zip(rows, comparison.reports, strict=True):
        assert float(row["time_s"]) == report.time_ps / PICOSECONDS
        assert int(row["hbm_bytes"]) == dict(report.bytes)["hbm"]


def test_csv_of_nothing_is_empty() -> None:
    assert records_csv([]) == "\n"


def test_the_trace_keeps_outcomes_apart_and_in_order(comparison: Comparison) -> None:
    from experiments.trace import trace_json

    trace = json.loads(trace_json(comparison.outcomes))
    events = trace["traceEvents"]
    named = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert {event["pid"] for event in events} == set(named)
    assert [named[pid] for pid in sorted(named)] == list(trace["otherData"])
    for report, name in zip(comparison.reports, trace["otherData"], strict=True):
        assert name == f"{report.machine} {report.mode} ({report.calls:,} calls)"


def test_a_process_of_the_trace_says_how_many_members_do_the_same(comparison: Comparison) -> None:
    from experiments.trace import process_name

    report = replace(comparison.reports[0], machine="h100_sxm", mode="library", members=8, calls=1)
    assert process_name(report) == "8 x h100_sxm library (1 call)"


def test_pictures_are_drawn_in_every_format_and_the_same_bytes_every_time(
    comparison: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Drawn as SVG for every format: that the others are the same bytes, too, is tested with the verbs for scripts.
    monkeypatch.setattr("experiments.picture.saved", lambda figure, suffix: saved(figure, "svg"))
    first, second = drawn(comparison, ["fusion"]), drawn(comparison, ["fusion"])
    pictures = [f"fusion{size}.{suffix}" for size in ("", "_one_column") for suffix in METADATA]
    assert list(first) == [*pictures, "fusion.csv"]
    assert [name for name in first if first[name] != second[name]] == []


def test_the_fusion_picture_shows_what_the_reports_say(comparison: Comparison) -> None:
    with in_style():
        picture = fusion.draw(comparison)
        file = saved(picture.figure, "svg")
    rows = [row for row in picture.rows if row["what"] == "run"]
    assert [row["calls"] for row in rows] == [report.calls for report in comparison.reports]
    assert [row["off_chip_bytes"] for row in rows] == [dict(r.bytes)["hbm"] for r in comparison.reports]
    for report in comparison.reports:
        assert f">{report.calls:,}<".encode() in file


def test_the_overlap_picture_has_a_time_line_of_each_machine_and_all_accounts(comparison: Comparison) -> None:
    with in_style():
        rows: Any = overlap.draw(comparison).rows
    bars = [row for row in rows if row["lane"]]
    assert {(row["machine"], row["call"]) for row in bars} == {("h100_sxm", "gemm"), ("sn40l", "decoder")}
    assert {"producer: load", "consumer: tc"} <= {row["lane"] for row in bars}
    for report in comparison.reports:
        parts = [
            int(r["time_ps"]) for r in rows if r["part"] and (r["machine"], r["mode"]) == (report.machine, report.mode)
        ]
        assert sum(parts) == report.time_ps


@pytest.mark.parametrize("spread", [1, 10**6])
def test_labels_of_the_fusion_picture_do_not_touch(comparison: Comparison, spread: int) -> None:
    """Also where bytes and calls differ so much that scales are logarithmic, and say so."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    first, *others = comparison.outcomes
    wide = replace(first.report, calls=first.report.calls * spread, bytes=(("hbm", 10**11 * spread),))
    with in_style():
        figure = fusion.draw(replace(comparison, outcomes=(replace(first, report=wide), *others))).figure
        FigureCanvasAgg(figure).draw()
    labels = [axes.xaxis.label.get_window_extent() for axes in figure.axes]
    assert all(left.x1 < right.x0 for left, right in pairwise(labels))
    assert labels[0].x0 >= 0
    assert labels[-1].x1 <= figure.bbox.width
