"""The guide through the compile flow: its commands print what it shows, its picture shows what is compiled."""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.cli import cli
from rdu_model.compile_stage import stage_names

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "compile-flow.md"
EXAMPLE = re.compile(r"^```console\n\$ (patternloom [^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples() -> list[str]:
    """The commands of the guide."""
    return [found[1] for found in EXAMPLE.finditer(GUIDE.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("command", examples())
def test_a_command_prints_what_the_guide_shows(command: str, pytestconfig: pytest.Config) -> None:
    text = GUIDE.read_text(encoding="utf-8")
    result = CliRunner().invoke(cli, shlex.split(command)[1:], env={"COLUMNS": "100"}, catch_exceptions=False)
    assert result.exit_code == 0
    if pytestconfig.getoption("--update-golden"):
        text = EXAMPLE.sub(lambda m: f"```console\n$ {m[1]}\n{result.output}```" if m[1] == command else m[0], text)
        GUIDE.write_text(text, encoding="utf-8")
    shown = next(found[2] for found in EXAMPLE.finditer(text) if found[1] == command)
    assert result.output == shown, "the guide is out of date: run this test with --update-golden"


def test_the_guide_names_every_stage() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    assert [name for name in stage_names() if f"--stage {name}" not in text] == []


def test_the_picture_has_the_units_of_the_decoder(pytestconfig: pytest.Config) -> None:
    """Where they are is not compared: another release of numpy may anneal otherwise."""
    from experiments.floorplan import asked_floorplan, section_named
    from experiments.picture import drawn_floorplan
    from experiments.request import Request
    from patterns.library import workload
    from rdu_model import Choices, compile_graph, load_machine

    docs = ROOT / "docs"
    if pytestconfig.getoption("--update-golden"):
        files = drawn_floorplan(asked_floorplan(Request("llama-3.1-8b"), ""))
        (docs / "floorplan.png").write_bytes(files["floorplan.png"])
        # The units are what is compared below; links are most of the data.
        lines = files["floorplan.csv"].decode().splitlines(keepends=True)
        (docs / "floorplan.csv").write_text("".join(line for line in lines if not line.startswith("link,")))
    compilation = compile_graph(workload("llama-3.1-8b"), load_machine("sn40l"), Choices())
    section = section_named(compilation, "").section
    rows = list(csv.DictReader(io.StringIO((docs / "floorplan.csv").read_text(encoding="utf-8"))))
    held = Counter(row["item"] for row in rows if row["what"] == "pcu" and row["item"])
    assert held == {name: group.pcus for name, group in section.groups.items() if group.pcus}
    kept = Counter(row["item"] for row in rows if row["what"] == "pmu" and row["item"])
    assert {name: kept[name] for name in kept if not name.startswith("carry ")} == {
        buffer.link.name: buffer.pmus for buffer in section.buffers
    }
    assert (docs / "floorplan.png").is_file()
