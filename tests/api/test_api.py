"""The verbs for scripts: each gives what the command line gives."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from experiments import api
from experiments.cli import cli
from experiments.compare import Comparison
from experiments.compare import compare as compared
from experiments.documented import columns
from experiments.picture import drawn
from experiments.request import Request
from patterns.errors import UnknownName, UserError


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return api.compare("softmax", settings={"rows": 2048, "gpu.hbm_bytes_per_s": "4 TB/s"}, gpus=1)


def test_compare_is_that_of_the_command_line(comparison: Comparison) -> None:
    settings = (("rows", "2048"), ("gpu.hbm_bytes_per_s", "4 TB/s"))
    assert comparison.reports == compared(Request("softmax", settings=settings)).reports


def test_the_verbs_in_turn_give_a_report_of_the_comparison(comparison: Comparison) -> None:
    graph = api.load("softmax", extents={"rows": 2048})
    plan = api.lower(graph, "h100_sxm", "library", parameters={"hbm_bytes_per_s": "4 TB/s"})
    assert api.summarize(api.simulate(plan)) in comparison.reports
    on_rdu = api.lower(graph, "sn40l", "fused", orchestration="software")
    assert api.summarize(api.simulate(on_rdu)).calls == 1


def test_a_plot_shows_and_saves_itself(comparison: Comparison, tmp_path: Path) -> None:
    plot = api.plot(comparison, "fusion")
    shown = plot._repr_svg_()
    assert shown.lstrip().startswith("<?xml")
    assert "off_chip_bytes" in plot.data_csv.splitlines()[0].split(",")
    saved = {path.name for path in plot.save(tmp_path / "new")}
    assert {"fusion.svg", "fusion.png", "fusion.pdf", "fusion.csv"} <= saved
    # Showing it first changes no byte of what is saved.
    assert (tmp_path / "new" / "fusion.svg").read_text() == shown
    assert dict(plot.files) == drawn(comparison, ("fusion",))


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: api.load("sofmax"), "softmax"),
        (lambda: api.lower(api.load("softmax"), "h100"), "h100_sxm"),
        (lambda: api.lower(api.load("softmax"), "h100_sxm", "librari"), "library"),
    ],
)
def test_a_mistake_has_the_message_of_the_command_line(call: object, what: str) -> None:
    assert callable(call)
    with pytest.raises(UnknownName, match=what):
        call()


def test_a_comparison_is_a_data_frame_and_labelled_arrays(comparison: Comparison) -> None:
    frame = comparison.to_dataframe()
    assert list(frame["mode"]) == [report.mode for report in comparison.reports]
    assert frame.attrs["units"]["time_s"] == "s"
    arrays = comparison.to_xarray()
    library = next(report for report in comparison.reports if report.mode == "library")
    assert float(arrays.time_s.sel(machine="h100_sxm", mode="library")) == library.time_s


def test_values_show_themselves_in_a_notebook(comparison: Comparison) -> None:
    from IPython.testing.globalipapp import start_ipython

    shell = start_ipython()
    api.tell_ipython()
    graph = api.load("softmax")
    plan = api.lower(graph, "h100_sxm", "pattern")
    execution = api.simulate(plan)
    formatters = shell.display_formatter.formatters
    svg, html = formatters["image/svg+xml"], formatters["text/html"]
    assert "reduce sum" in svg.lookup(graph)(graph)
    for word, value in {"launches": plan, "softmax.e": execution, "bound": api.summarize(execution)}.items():
        assert word in html.lookup(value)(value)
    assert "megakernel" in comparison._repr_html_()


def test_a_report_is_the_page_of_the_command_in_a_frame(comparison: Comparison, tmp_path: Path) -> None:
    from experiments.page.report import report_page

    page = api.report(comparison)
    assert page.save(tmp_path / "page.html").read_text(encoding="utf-8") == report_page(comparison)
    (frame,) = re.findall(r'^<iframe title="[^"<>]*" srcdoc="([^"<>]*)"', page._repr_html_())
    assert unescape(frame) == page.html
    assert len(repr(page)) < 200
    assert len(repr(comparison)) < 600


SWEEP = {
    "fixed": {"workload": Path("softmax"), "machine": "h100_sxm"},
    "grid": {"mode": ["pattern", "library"], "rows": (64, 256)},
}


def test_a_sweep_of_data_is_that_of_the_file_that_says_so(tmp_path: Path) -> None:
    swept = api.sweep(SWEEP, tmp_path / "rows.db", jobs=1)
    (tmp_path / "same.yaml").write_text(
        "fixed: {workload: softmax, machine: h100_sxm}\ngrid: {mode: [pattern, library], rows: [64, 256]}\n"
    )
    assert api.sweep(tmp_path / "same.yaml", jobs=1).records == swept.records
    assert "4 points: 4 ok; 4 were there already" in api.sweep(SWEEP, tmp_path / "rows.db").summary
    frame, arrays = swept.to_dataframe(), swept.to_xarray()
    assert len(swept) == len(frame) == 4
    assert swept.failed == ()
    assert dict(arrays.sizes) == {"mode": 2, "rows": 2}
    calls = {(record["mode"], record["rows"]): record["calls"] for record in swept.records}
    assert calls == {("pattern", 64): 3, ("pattern", 256): 3, ("library", 64): 1, ("library", 256): 1}
    assert int(arrays.calls.sel(mode="pattern", rows=64)) == 3
    assert arrays.time_us.attrs["units"] == "us"
    assert swept._repr_html_().count("<tr") == 1 + 4
    with pytest.raises(UserError, match="same mode"):
        swept.to_xarray("mode")


def test_series_of_other_libraries_are_lists_of_numbers() -> None:
    np = pytest.importorskip("numpy")
    fixed = {"workload": "softmax", "machine": "h100_sxm", "mode": "pattern", "columns": np.int64(64)}
    rows = [api.sweep({"fixed": fixed, "grid": {"rows": rows}}, jobs=1).records for rows in (np.array([8, 9]), [8, 9])]
    assert rows[0] == rows[1]
    assert [type(record["rows"]) for record in rows[0]] == [int, int]
    assert len(api.sweep({"fixed": fixed, "grid": {"rows": range(8, 10)}}, jobs=1)) == 2
    assert api.sweep({"fixed": fixed}, jobs=1, rows=8).records[0]["time_us"] == rows[0][0]["time_us"]


def test_a_point_that_does_not_fit_is_a_row_that_says_so() -> None:
    swept = api.sweep("stages_that_fit", settings={"option.stages": 7}, jobs=1)
    (row,) = swept.failed
    assert row["status"] == "infeasible"
    assert row["needed"] > row["available"]
    assert str(row["nearest"]) in swept._repr_html_()


@pytest.mark.parametrize(
    ("source", "keywords", "what"),
    [
        ({"grid": {"batch": [1, 2]}}, {}, "no workload is given"),
        ({"fixed": {"workload": "softmax", "machine": "h100_sxm"}, "gird": {}}, {}, "grid"),
        ({"fixed": {"workload": object()}}, {}, "mappings, lists, texts and numbers"),
        (SWEEP, {"settings": {"rowz": 3}}, "rows"),
        (SWEEP, {"jobs": 0}, "at least 1"),
        (SWEEP, {"jobs": 2, "scheduler": "tcp://127.0.0.1:1"}, "scheduler"),
        ("no_such.yaml", {}, "no_such"),
    ],
)
def test_a_mistake_in_a_sweep_is_told(source: object, keywords: dict[str, object], what: str) -> None:
    with pytest.raises(UserError, match=what):
        api.sweep(source, **keywords)  # type: ignore[arg-type]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """The recording of two steps that a page of the documentation shows."""
    page = Path(__file__).parents[2] / "docs" / "profile.md"
    (content,) = re.findall(r"^```text\n# two_steps\.json\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
    (tmp_path / "two_steps.json").write_text(content, encoding="utf-8")
    return tmp_path / "two_steps.json"


def test_a_recording_is_told_as_by_the_command(recording: Path) -> None:
    alone = api.profile(recording)
    (device,) = alone.to_dict()["devices"]
    assert device["kernels_per_step"] == {"min": 4, "median": 4, "max": 4}
    assert [one.name for one in columns.profile_columns()] == list(alone.to_dataframe())
    assert set(alone.to_dataframe()["per_step"]) == {1, 3}
    assert "matrix product" in alone._repr_html_()
    beside = api.profile(recording, against="gemm", settings={"m": 64}, policies=("library",), modes=("looped",))
    assert beside.beside is not None
    assert beside.beside.request.settings == (("m", "64"),)
    assert "library" in beside._repr_html_()
    assert beside.to_dict().keys() - alone.to_dict().keys() == {"against"}
    with pytest.raises(UserError, match="against"):
        api.profile(recording, context=4)


def test_a_recording_is_saved_as_the_page_of_the_command(recording: Path, tmp_path: Path) -> None:
    saved = api.profile(recording, "step 1").save(tmp_path / "saved.html", top=3)
    written = tmp_path / "written.html"
    arguments = ["profile", str(recording), "--step", "step 1", "--top", "3", "-o", str(written)]
    assert CliRunner().invoke(cli, arguments).exit_code == 0
    assert saved.read_bytes() == written.read_bytes()


def test_names_are_those_that_list_shows() -> None:
    assert "h100_sxm" in api.names("machines")
    assert {"fusion", "overlap"} <= set(api.names("plots"))
    with pytest.raises(UnknownName, match="machines"):
        api.names("machine")


def test_verbs_take_names_graphs_and_sizes_as_keywords(comparison: Comparison) -> None:
    graph = api.load("softmax", rows=2048, columns=None)
    assert graph == api.load("softmax", extents={"rows": 2048}) == api.load(graph)
    faster = {"gpu.hbm_bytes_per_s": "4 TB/s"}
    for of in (api.compare("softmax", rows=2048, settings=faster), api.compare(graph, settings=faster)):
        assert of.reports == comparison.reports
    assert api.lower("softmax", "sn40l", "fused", rows=2048) == api.lower(graph, "sn40l", "fused")
    one = {"policies": "library", "modes": ["looped"], "rows": 2048, "gpus": 1}
    assert [report.mode for report in api.compare("softmax", **one).reports] == ["library", "looped"]
    assert api.plot("softmax", "calls", **one).data_csv == api.plot(api.compare("softmax", **one), "calls").data_csv
    assert "softmax" in api.report("softmax", **one).title
    half = api.load("tensor_parallel_mlp", members=2)
    # A graph of one of two is run by two of each.
    assert {report.members for report in api.compare(half, policies="library", modes="looped").reports} == {2}


GRAPH = api.load("softmax")
ONE: dict[str, Any] = {"policies": "library", "modes": "looped"}


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: api.load("softmax", rowz=64), "did you mean 'rows'"),
        (lambda: api.load("softmax", rows=64, extents={"rows": 3}), "keep one"),
        (lambda: api.load("softmax", rows=True), "rows: a whole number or"),
        (lambda: api.load(GRAPH, rows=3), "made already"),
        (lambda: api.load(3), "name, a path or a Graph; found int 3"),
        (lambda: api.load("llama-3.1-8b", context="8192"), "context: a whole number is due, found str"),
        (lambda: api.load("softmax", extents=[("rows", 3)]), "extents: a mapping is due"),
        (lambda: api.lower("softmax", "h100_sxm", policy="library"), "did you mean 'mode'"),
        (lambda: api.lower(GRAPH, "h100_sxm", shedule="auto"), "did you mean 'schedule'"),
        (lambda: api.lower(GRAPH, "sn40l", launch="graph"), "launch: asked of GPUs only"),
        (lambda: api.lower(GRAPH, None), "machine: a text is due"),
        (lambda: api.simulate(GRAPH), r"takes a Plan: lower\(workload, machine\)"),
        (lambda: api.summarize(api.lower(GRAPH, "h100_sxm")), r"takes an Execution: simulate\(plan\)"),
        (lambda: api.compare("softmax", gpuz=3), "did you mean 'gpu'"),
        (lambda: api.compare("softmax", gpus="2"), "gpus: a whole number"),
        (lambda: api.compare("softmax", settings={"rows": 64}, rows=3), "keep one"),
        (lambda: api.compare(GRAPH, rows=3), "made already"),
        (lambda: api.compare(GRAPH, batch=3), "made already"),
        (lambda: api.compare(GRAPH, gpus=2), "members=2"),
        (lambda: api.report(GRAPH.name, modes=3), "modes: a list of texts"),
        (lambda: api.plot(GRAPH, "fusio"), "did you mean 'fusion'"),
        (lambda: api.plot(GRAPH, "bars"), "bars is of columns of a table: `patternloom plot --data FILE"),
        (lambda: api.plot(GRAPH, "fusion", **ONE).save(3), "folder: a path is due, found int 3"),
        (lambda: api.plot(api.compare(GRAPH, **ONE), "floorplan"), r"of one call on an RDU: plot\(WORKLOAD"),
        (lambda: api.plot(GRAPH, "floorplan", section="x"), "unknown section 'x'"),
        (lambda: api.load("long" * 100 + ".yaml"), "cannot be read: file name too long"),
        (lambda: api.sweep("decode_by_contex"), "unknown sweep 'decode_by_contex' \\(did you mean 'decode_by_context'"),
        (lambda: api.plot("fusion", GRAPH), "kind: a text is due"),
        (lambda: api.sweep(3), "a file, an example's name or a mapping; found int 3"),
        (lambda: api.profile(3), "file: a path is due"),
        (lambda: api.profile("none.json", 3), "step: a text is due"),
        (lambda: api.run(3), "study: a text is due"),
        (lambda: api.names(3), "section: a text is due"),
    ],
)
def test_what_is_of_the_wrong_type_has_one_message(call: object, what: str) -> None:
    assert callable(call)
    with pytest.raises(UserError, match=what):
        call()


def test_a_comparison_is_made_with_all_that_was_asked(comparison: Comparison) -> None:
    with pytest.raises(UserError, match="rows: the comparison is made already"):
        api.report(comparison, rows=3)
    with pytest.raises(UserError, match="found Report"):
        api.report(comparison.reports[0])
