"""The guide to a first graph: its files and commands, in its order, print what it shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from click.testing import CliRunner

from experiments.cli import cli

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "first-graph.md"
PICTURE = ROOT / "docs" / "first-graph.svg"
CONSOLE = re.compile(r"^```console\n\$ (patternloom [^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^```yaml\n(# (\S+\.yaml)\n.*?)^```$", re.MULTILINE | re.DOTALL)
HEAD = re.compile(r" \| head -n (\d+)$")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of the guide."""
    for text, name in FILE.findall(GUIDE.read_text(encoding="utf-8")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def printed(command: str) -> str:
    """What a command of the guide prints, cut as its `| head -n N` says."""
    head = HEAD.search(command)
    result = CliRunner().invoke(cli, shlex.split(HEAD.sub("", command))[1:], catch_exceptions=False)
    lines = result.output.splitlines(keepends=True)
    return "".join(lines[: int(head[1])] if head else lines)


def test_the_guide_runs_as_shown(folder: Path, pytestconfig: pytest.Config) -> None:
    pytest.importorskip("pygraphviz")
    text = GUIDE.read_text(encoding="utf-8")
    found = {command: printed(command) for command, _ in CONSOLE.findall(text)}
    if pytestconfig.getoption("--update-golden"):
        text = CONSOLE.sub(lambda m: f"```console\n$ {m[1]}\n{found[m[1]]}```", text)
        GUIDE.write_text(text, encoding="utf-8")
        PICTURE.write_bytes((folder / PICTURE.name).read_bytes())
    assert len(found) >= 12
    assert [(command, shown) for command, shown in CONSOLE.findall(text) if shown != found[command]] == []
    # Graphviz of another release draws another file; what stands in it is the same.
    assert texts(PICTURE) == texts(folder / PICTURE.name)
    first = re.search(r"^```yaml\n(# yaml-language-server.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert first is not None
    assert yaml.safe_load(first[1]) == yaml.safe_load((folder / "first.yaml").read_text(encoding="utf-8"))


def texts(picture: Path) -> list[str]:
    """What is written in a picture."""
    return sorted(
        "".join(text.itertext()) for text in ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}text")
    )


def test_the_readme_leads_to_the_guide() -> None:
    assert "(docs/first-graph.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
