"""The verbs for scripts: each gives what the command line gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments import api
from experiments.compare import Comparison
from experiments.compare import compare as compared
from experiments.request import Request
from patterns.errors import UnknownName


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
    assert plot._repr_svg_().lstrip().startswith("<?xml")
    assert "off_chip_bytes" in plot.data_csv.splitlines()[0].split(",")
    saved = {path.name for path in plot.save(tmp_path / "new")}
    assert {"fusion.svg", "fusion.png", "fusion.pdf", "fusion.csv"} <= saved


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
