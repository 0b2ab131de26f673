"""What is said of launches: who sets the pace, what of launching is waited for, and how kernels can be launched."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from click.testing import CliRunner

from experiments.cli import cli
from experiments.text.comparison import comparison_parts, headline_note
from experiments.text.launching import launching_line
from experiments.text.page import page_text
from gpu_model import launch_names
from patterns.report import Launching

if TYPE_CHECKING:
    from experiments.compare import Comparison


def printed(*arguments: str) -> str:
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def test_every_way_to_launch_is_listed() -> None:
    page = printed("list", "launches")
    for name in launch_names():
        assert f" {name} " in page


def test_a_table_says_what_of_launching_is_hidden(comparison: Comparison) -> None:
    first, *others = comparison.outcomes
    paced = replace(first, report=replace(first.report, launching=Launching(5_000_000, 2_000_000, True)))
    page = page_text([part for part in comparison_parts(replace(comparison, outcomes=(paced, *others))) if part], 100)
    rows = [line.split() for line in page.splitlines() if line.endswith(("host bound", "device bound"))]
    assert len(rows) == len(comparison.outcomes)
    assert rows[0][2:] == ["5.000", "us", "2.000", "us", "3.000", "us", "host", "bound"]
    assert rows[1][2:] == ["-", "-", "-", "device", "bound"]


def test_a_plan_says_who_sets_the_pace() -> None:
    slow = printed("show", "softmax", "--gpu", "h100_sxm", "--policy", "pattern", "--set", "gpu.stream_launch_ps=1 ms")
    assert "Launch queue (stream): host bound; launching takes 3.000 ms" in slow
    assert "Launch queue (graph): device bound" in printed("show", "softmax", "--gpu", "h100_sxm", "--launch", "graph")


def test_one_launch_is_not_called_fewer_calls_than_it_is(comparison: Comparison) -> None:
    outcomes = tuple(
        replace(o, report=replace(o.report, calls=1)) if o.report.mode == "operator" else o for o in comparison.outcomes
    )
    assert "3.00x more calls" in headline_note(replace(comparison, outcomes=outcomes))
    assert "fewer calls" in headline_note(comparison)


def test_a_line_has_its_mode() -> None:
    assert launching_line(Launching(1, 1, False), "pdl").startswith("Launch queue (pdl): device bound")
