"""patternloom init: a file to start from, which loads and runs, and never takes the place of another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from experiments.cli import cli
from patterns.read import read_graph


def run(*arguments: str) -> Result:
    """A command's result."""
    return CliRunner().invoke(cli, arguments)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_graph_and_its_schema_are_written_and_run(folder: Path) -> None:
    result = run("init", "first")
    assert (result.exit_code, result.stderr) == (0, "wrote first.yaml, patternloom.schema.json\n")
    assert sorted(path.name for path in folder.iterdir()) == ["first.yaml", "patternloom.schema.json"]
    head = (folder / "first.yaml").read_text(encoding="utf-8").splitlines()[0]
    assert head == "# yaml-language-server: $schema=patternloom.schema.json"
    assert json.loads((folder / "patternloom.schema.json").read_text(encoding="utf-8"))["title"] == "patternloom graph"
    assert read_graph("first.yaml").name == "first"
    checked = run("check", "first.yaml")
    assert (checked.exit_code, checked.stderr) == (0, "")


def test_a_second_graph_shares_the_schema_and_an_old_schema_is_renewed(folder: Path) -> None:
    run("init", "first")
    assert run("init", "second.yaml").stderr == "wrote second.yaml\n"
    schema = folder / "patternloom.schema.json"
    now = schema.read_bytes()
    schema.write_text(now.decode().replace("bf16", "bf17"), encoding="utf-8")
    assert run("init", "third").stderr == "wrote third.yaml, patternloom.schema.json\n"
    assert schema.read_bytes() == now


def test_nothing_is_overwritten(folder: Path) -> None:
    (folder / "mine.yaml").write_text("name: mine\n", encoding="utf-8")
    result = run("init", "mine")
    assert (result.exit_code, result.stderr) == (2, "Error: mine.yaml is there already; it is not overwritten\n")
    assert [path.name for path in folder.iterdir()] == ["mine.yaml"]
    (folder / "patternloom.schema.json").write_text("{}", encoding="utf-8")
    result = run("init", "other")
    assert (result.exit_code, "no schema of a graph" in result.stderr) == (2, True)
    assert not (folder / "other.yaml").exists()


def test_a_link_that_leads_nowhere_is_not_replaced_either(folder: Path) -> None:
    (folder / "link.yaml").symlink_to("nowhere.yaml")
    result = run("init", "link")
    assert (result.exit_code, "is there already" in result.stderr) == (2, True)
    assert (folder / "link.yaml").is_symlink()
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("1st", "no graph can be called '1st': a name has letters"),
        ("a b", "no graph can be called 'a b'"),
        ("", "no graph can be called"),
        ("a: b", "no graph can be called 'a: b'"),
        ("absent/first", "cannot write absent/patternloom.schema.json: there is no folder absent"),
    ],
)
def test_a_name_that_cannot_be(folder: Path, name: str, message: str) -> None:
    result = run("init", name)
    assert (result.exit_code, message in result.stderr) == (2, True), result.stderr
    assert list(folder.iterdir()) == []
