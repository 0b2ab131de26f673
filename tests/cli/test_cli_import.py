"""patternloom import: graph files of foreign files, which read back as the graphs that they were."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.cli import cli
from patterns.library import CONFIGS, config_names, imported_text, workload
from patterns.plugin import data_file
from patterns.read import parse_graph


@pytest.mark.parametrize("name", config_names())
def test_an_imported_graph_reads_back_equal(name: str) -> None:
    text = imported_text(name)
    assert parse_graph(text) == workload(name)
    members = 2 if "tensor_parallel" in workload(name).sizes else 1
    overrides = {"seq": "context", "context": "64"} | ({"tensor_parallel": "2"} if members > 1 else {})
    assert parse_graph(text, overrides=overrides) == workload(name, phase="prefill", context=64, members=members)


def test_a_graph_file_is_written_whole_or_printed(tmp_path: Path) -> None:
    config = tmp_path / "tiny" / "config.json"
    config.parent.mkdir()
    config.write_text(data_file(CONFIGS, "llama-3.2-1b", ".json", "config").read_text())
    made = tmp_path / "made.yaml"
    done = CliRunner().invoke(cli, ["import", str(config), "-o", str(made)], catch_exceptions=False)
    assert (done.exit_code, done.stdout) == (0, "")
    printed = CliRunner().invoke(cli, ["import", str(config)], catch_exceptions=False)
    assert printed.stdout == made.read_text()
    assert workload(str(made)).name == "tiny"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["softmax"], "unknown workload 'softmax'"),
        (["llama-3.2-1b", "--name", "7 b"], "'7 b' is no name of a graph: letters, digits, _ . and -"),
        (["llama-3.2-1b", "--name", ""], "'' is no name of a graph"),
        (["missing.json"], "there is no file 'missing.json'"),
        (["llama-3.2-1b", "-o", "/no/such/folder/a.yaml"], "there is no folder"),
    ],
)
def test_what_cannot_be_imported_is_refused(arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(cli, ["import", *arguments])
    assert done.exit_code == 2
    assert message in done.stderr
