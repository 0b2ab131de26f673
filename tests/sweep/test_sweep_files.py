"""Sweep files: every mistake of each bad one is a golden file; the schema, and a file to start from."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.cli import cli
from experiments.sweep.examples import example_names, sweep_file
from experiments.sweep.expansion import expand
from experiments.sweep.read import read_sweep
from experiments.sweep.spec import SweepSpec
from patterns.errors import SpecError, UserError
from tests.sweep.sweeps import SOFTMAX, written

HERE = Path(__file__).parent
FILES = sorted((HERE / "files").glob("*.yaml"))


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_each_wrong_sweep_says_what_would_be_right(path: Path, golden: Callable[[str, str], None]) -> None:
    with pytest.raises(SpecError) as caught:
        read_sweep(path)
    golden(f"errors/sweeps/{path.stem}.txt", f"{caught.value}\n".replace(f"{path.parent}/", ""))


@pytest.mark.parametrize("name", example_names())
def test_every_example_is_read_and_has_points(name: str) -> None:
    sweep = read_sweep(sweep_file(name))
    assert sweep.about
    assert expand(sweep)


def test_a_value_is_pinned_from_outside(tmp_path: Path) -> None:
    sweep = read_sweep(written(tmp_path, SOFTMAX), [("rows", "48"), ("gpu.hbm_bytes_per_s", "2 TB/s")])
    pinned = (("graph.rows", "48"), ("gpu.hbm_bytes_per_s", "2 TB/s"))
    settings = [case.point.settings for case in expand(sweep)]
    assert settings == [(*pinned, ("graph.columns", str(columns))) for columns in (64, 128, 192, 256)]


@pytest.mark.parametrize(("name", "value"), [("graph.rows", 48), ("rows", 48), ("policy", "library"), ("mode", "auto")])
def test_what_is_pinned_takes_the_place_of_the_field_by_any_name(tmp_path: Path, name: str, value: object) -> None:
    read = read_sweep(written(tmp_path, SOFTMAX), [(name, str(value))])
    points = [case.point for case in expand(read)]
    assert len(points) == (4 if "rows" in name else 12)
    assert {dict(point.settings).get("graph.rows") for point in points} == (
        {"48"} if "rows" in name else {"16", "32", "48"}
    )
    assert {point.mode for point in points} == {"pattern" if "rows" in name else value}


def test_a_workload_from_outside_is_named_from_where_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "far").mkdir()
    file = written(tmp_path / "far", SOFTMAX)
    (tmp_path / "own.yaml").write_text("a graph\n")
    monkeypatch.chdir(tmp_path)
    points = [case.point for case in expand(read_sweep(file, [("workload", "own.yaml")]))]
    assert {point.workload for point in points} == {str(tmp_path / "own.yaml")}


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("batch", "x", "--set batch: batch: a whole number is due, found 'x'"),
        ("workload", "softmx", "--set workload: unknown workload 'softmx' (did you mean 'softmax'?)"),
        ("machine", "h100", "--set machine: unknown machine 'h100' (did you mean 'h100_sxm'?)"),
        ("gpu.hbm_bytes_per_s", "3", "--set gpu.hbm_bytes_per_s: a unit is due, found the bare number 3"),
    ],
)
def test_a_wrong_value_from_outside_is_told(tmp_path: Path, name: str, value: str, told: str) -> None:
    with pytest.raises(UserError, match=re.escape(told)):
        read_sweep(written(tmp_path, SOFTMAX), [(name, value)])


def test_a_wrong_name_from_outside_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="unknown field 'rowz' \\(did you mean 'rows'"):
        read_sweep(written(tmp_path, SOFTMAX), [("rowz", "48")])


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("grid: {machine: h100_sxm}", "workload"),
        ("fixed: {workload: softmax}", "machine"),
        ("", "the file is empty"),
        (
            "fixed: {workload: softmax}\nlist: [{machine: v100}, {rows: 3}]",
            r"cheap.yaml:2:25: list.1: a point has no machine",
        ),
    ],
)
def test_what_every_point_needs_is_asked_for(tmp_path: Path, text: str, missing: str) -> None:
    with pytest.raises(UserError, match=missing):
        expand(read_sweep(written(tmp_path, text)))


def test_a_sweep_to_start_from_runs_and_its_schema_says_what_the_loader_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke
    assert run(cli, ["init", "mine", "--kind", "sweep"]).stderr == "wrote mine.yaml, patternloom-sweep.schema.json\n"
    assert len(expand(read_sweep(Path("mine.yaml")))) == 27
    schema = json.loads(Path("patternloom-sweep.schema.json").read_text(encoding="utf-8"))
    assert run(cli, ["schema", "--kind", "sweep"]).stdout == Path("patternloom-sweep.schema.json").read_text("utf-8")
    assert set(schema["properties"]) == set(SweepSpec.model_fields)
    assert all("description" in field for field in schema["properties"].values())
    assert run(cli, ["init", "mine", "--kind", "sweep"]).exit_code == 2
    assert "no sweep can be called 'a b'" in run(cli, ["init", "a b", "--kind", "sweep"]).stderr


def test_a_dry_run_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.sweep.run.run_chunks", None)
    file = written(tmp_path, SOFTMAX)
    result = CliRunner().invoke(cli, ["sweep", str(file), "--dry-run", "--set", "machine=sn40l"])
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == "cheap: 12 points"
    assert "  rows 16, columns 64" in result.stdout
    assert "... and 7 more" in result.stdout
