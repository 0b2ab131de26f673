"""What the commands print about graphs and plans that a person can check, and the lecture's time lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.cli import cli

LECTURE = {
    ("synchronous", "TC"): "·········MMMMMMM·········MMMMMM··········MMMMMM·········MMMMMM··········",
    ("synchronous", "LOAD"): "·LLLL···········LLLLL···········LLLL···········LLLLL···········LLLL·····",
    ("multistage", "TC"): "·········MMMMMMMMMMMMM·MMMMMM·MMMMMMMMMMMMMMMMMMM·MMMMMM·MMMMMMMMMMMMMMM",
    ("warp_specialized", "TC"): "·········MMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMM",
}
STAGES = {"synchronous": "1", "multistage": "4", "warp_specialized": "4"}
PAGES = {
    "compare_softmax": "compare softmax --gpu unit --rdu unit --set rows=64 --set columns=256",
    "compare_softmax.json": "compare softmax --gpu unit --rdu unit --set rows=64 --set columns=256 --json",
    "compare_softmax.csv": "compare softmax --gpu unit --rdu unit --set rows=64 --set columns=256 --csv",
    "compare_rms_norm_software": "compare rms_norm --gpu unit --rdu unit --launch graph --orchestration software",
    "show_softmax": "show softmax",
    "show_softmax_on_the_gpu": "show softmax --gpu unit --policy pattern",
    "show_softmax_on_the_rdu": "show softmax --rdu unit --mode fused --cells 60",
    "check_llama": "check llama-3.1-8b",
    "list_graphs": "list graphs",
}


def printed(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """What a command prints in 100 columns."""
    monkeypatch.setenv("COLUMNS", "100")
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize(("schedule", "unit"), LECTURE)
def test_the_lectures_time_lines(schedule: str, unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["show", "gemm", "--gpu", "lecture_sm", "--schedule", schedule, "--stages", STAGES[schedule]]
    lines = printed(command, monkeypatch).splitlines()
    assert [line for line in lines if line.startswith(f"{unit} ")] == [f"{unit:<7}|{LECTURE[schedule, unit]}|"]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_as_it_was_read(
    page: str, monkeypatch: pytest.MonkeyPatch, golden: Callable[[str, str], None]
) -> None:
    text = printed(PAGES[page].split(), monkeypatch)
    golden(f"cli/{page}" if "." in page else f"cli/{page}.txt", text)


def test_settings_reach_graph_and_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    def times(*settings: str) -> list[float]:
        arguments = ["compare", "softmax", "--gpu", "unit", "--rdu", "unit", "--json"]
        arguments += [part for setting in settings for part in ("--set", setting)]
        return [report["bound_s"] for report in json.loads(printed(arguments, monkeypatch))["reports"]]

    before = times()
    assert times("rows=8192") == [2 * bound for bound in before]
    faster = times("gpu.hbm_bytes_per_s=1000 GB/s")
    assert faster[0] < before[0]
    assert faster[-1] == before[-1]


def test_json_is_alone_on_stdout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("experiments.picture.rendered", lambda figure, stem: [(f"{stem}.png", b"\x89PNG")])
    result = CliRunner().invoke(cli, ["compare", "softmax", "--json", "--plot", "plots", "--trace", "trace.json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["reports"]
    assert result.stderr.count("wrote ") == 2


def test_warnings_are_told_beside_json() -> None:
    small = ["--gpu", "unit", "--policy", "pattern", "--mode", "fused", "--set", "gpu.hbm_bytes=80 MB"]
    result = CliRunner().invoke(cli, ["compare", "softmax", *small, "--json"])
    assert json.loads(result.stdout)["reports"]
    assert result.stderr.startswith("Warning (unit pattern): softmax.y reads and writes ")
