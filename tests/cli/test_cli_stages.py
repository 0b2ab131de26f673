"""`show --stage` as a command: from any folder, into a pipe, of a user's own graph, on several sockets."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from time import process_time

import pytest
from click.testing import CliRunner

from experiments.cli import cli
from rdu_model.compile_stage import stage_names

ROOT = Path(__file__).parents[2]
OWN = """\
name: scaled_product
extents: {m: 300, n: 200, k: 64}
tensors:
  a: {dims: [m, k], dtype: bf16, role: input}
  b: {dims: [k, n], dtype: bf16, role: weight}
  d: {dims: [n, m], dtype: bf16, role: output}
nodes:
  c: {kind: mm, reads: [a, b]}
  t: {kind: buffer, fn: permute, reads: [c], order: n m}
  d: {kind: map, fn: relu, reads: [t]}
"""


def printed(*arguments: str) -> str:
    """What `show` prints in 100 columns."""
    result = CliRunner().invoke(cli, ["show", *arguments], env={"COLUMNS": "100"}, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("stage", stage_names())
def test_every_stage_is_shown_of_a_graph_of_the_users(stage: str, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(OWN)
    text = printed(str(tmp_path / "own.yaml"), "--rdu", "sn40l", "--stage", stage)
    assert "scaled_product" in text
    assert printed(str(tmp_path / "own.yaml"), "--rdu", "sn40l", "--stage", stage) == text


def test_a_changed_access_pattern_is_told(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(OWN)
    text = printed(str(tmp_path / "own.yaml"), "--rdu", "sn40l", "--stage", "metapipe")
    assert "t = BUFFER(permute, c, order=n m)" in text
    assert "changed access pattern" in text


def test_of_several_calls_all_are_shown_in_order_and_one_where_it_is_named() -> None:
    options = ("llama-3.2-1b", "--context", "256", "--rdu", "sn40l", "--mode", "fused", "--stage", "tiling")
    text = printed(*options)
    titles = [line.split(":")[0] for line in text.splitlines() if " PCU" in line and ": " in line]
    assert titles == ["embedding", "decoder", "head"]
    assert printed(*options, "head").split(":")[0] == "head"


def test_members_share_the_work() -> None:
    options = ("llama-3.2-1b", "--context", "256", "--rdu", "sn40l", "--stage", "metapipe", "decoder")
    assert "ALL_REDUCE(" not in printed(*options)
    assert "ALL_REDUCE(" in printed(*options, "--members", "4")


def test_a_llama_is_placed_and_listed_in_seconds() -> None:
    began = process_time()
    text = printed("llama-3.1-8b", "--rdu", "sn40l", "--stage", "listing")
    # It takes three to four; other work on the machine counts for little in process time.
    assert process_time() - began < 15
    assert all(f"section {name}:" in text for name in ("embedding", "decoder", "head"))


def test_it_is_the_same_in_a_pipe_and_from_another_folder(tmp_path: Path) -> None:
    options = ["softmax", "--rdu", "unit", "--set", "rows=64", "--set", "columns=64", "--stage", "parallelize"]
    command = [sys.executable, "-m", "experiments", "show", *options]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == printed(*options)


def test_without_a_stage_show_is_as_before() -> None:
    text = printed("softmax", "--rdu", "unit", "--mode", "fused")
    assert "program softmax" in text
    assert "METAPIPE(" not in text
