"""What is legal but suspicious: warned of, with its place, and refused by --strict."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.cli import cli
from patterns.library import graph_names
from patterns.read import read_with_warnings

SUSPICIOUS = Path(__file__).parent / "suspicious.yaml"
# Every graph of the library is as meant. One sums over bags of one row, so that there may be larger ones.
EXPECTED = {"dlrm": ["sums over [bag], of extent 1"]}


def test_each_warning_has_its_place(golden: Callable[[str, str], None]) -> None:
    result = CliRunner().invoke(cli, ["check", str(SUSPICIOUS)])
    assert result.exit_code == 0
    assert result.stdout.startswith("ok: ")
    golden("errors/warnings.txt", result.stderr.replace(f"{SUSPICIOUS.parent}/", ""))


def test_strict_refuses_what_is_suspicious() -> None:
    result = CliRunner().invoke(cli, ["check", "--strict", str(SUSPICIOUS)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "suspicious.yaml:6:3: tensors.unread: no node reads this input" in result.stderr
    assert CliRunner().invoke(cli, ["check", "--strict", "softmax"]).exit_code == 0


@pytest.mark.parametrize("name", graph_names())
def test_the_library_is_above_suspicion(name: str) -> None:
    _, warnings = read_with_warnings(files("patterns.library").joinpath(f"{name}.yaml"))
    assert [warning.message for warning in warnings] == EXPECTED.get(name, [])


def test_what_a_file_uses_of_another_is_the_others_affair(tmp_path: Path) -> None:
    file = tmp_path / "uses.yaml"
    file.write_text(f"name: uses\nblocks:\n  part: {{use: {SUSPICIOUS}, extents: {{rows: 9}}}}\n", encoding="utf-8")
    graph, warnings = read_with_warnings(file)
    assert (graph.sizes["part_rows"], warnings) == (9, ())


def test_a_table_has_dims_dtype_work_and_bytes_of_each_node() -> None:
    rows = {line.split()[0]: line for line in CliRunner().invoke(cli, ["check", "softmax"]).stdout.splitlines() if line}
    # 4096 x 4096 exponentials of two ops each; two bytes are read and two written for each.
    assert " ".join(rows["e"].split()) == "e map exp bf16 [rows columns] 33.55 M 67.11 MB 0.500"
    assert " ".join(rows["s"].split()) == "s reduce sum bf16 [rows] 16.78 M 33.56 MB 0.500"
