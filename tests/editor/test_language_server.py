"""What an editor shows of a graph file: the server that editors use, with our schema, over its own protocol."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from experiments.cli import cli
from patterns.dtypes import DTYPE_BITS
from patterns.functions.of_map import MAP
from patterns.kind import kind_names
from tests.editor.language_server import LanguageServer

SETTINGS = {"yaml": {"validate": True, "completion": True, "hover": True, "schemaStore": {"enable": False}}}
WRONG = """\
# yaml-language-server: $schema=patternloom.schema.json
name: wrong
extents: {rows: 8, columns: rows * 2}
x-vector: &vector {dims: [rows, columns], dtype: bf16, role: input}
tensors:
  x: {<<: *vector}
  z: {dims: [rows, columns], dtype: bf17, role: input}
nodes:
  e: {kind: mapp, fn: exp, reads: [x]}
  f: {kind: map, fn: expo, reads: [x]}
  s: {kind: reduce, fn: sum, reads: [e], ovr: [columns]}
  10: {kind: map, fn: exp, reads: [x]}
  y: {kind: zip, fn: div, reads: x}
  w: {kind: gather, reads: [x, x]}
"""
# What is wrong in it: line and column, and a word of the message.
FOUND = {
    (7, 37, "fp32"),
    (9, 13, "all_reduce"),
    (10, 22, "sigmoid"),
    (11, 3, "over"),
    (11, 42, "ovr"),
    (12, 3, "10"),
    (13, 34, "array"),
    (14, 3, "along"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which somebody began a graph, and another that is wrong."""
    made = tmp_path_factory.mktemp("graphs")
    result = CliRunner().invoke(cli, ["init", str(made / "first")])
    assert result.exit_code == 0, result.output
    composed = files("patterns.library").joinpath("speculative_decoding.yaml").read_text(encoding="utf-8")
    (made / "composed.yaml").write_text(f"{WRONG.splitlines()[0]}\n{composed}", encoding="utf-8")
    (made / "wrong.yaml").write_text(WRONG, encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[LanguageServer]:
    """One running server for all tests of this file."""
    command = shutil.which("yaml-language-server")
    if command is None:
        if os.environ.get("CI") == "true" and shutil.which("node"):
            pytest.fail("yaml-language-server is not on the PATH: npm install yaml-language-server")
        pytest.skip("no yaml-language-server on the PATH (npm install yaml-language-server)")
    with LanguageServer([command, "--stdio"], folder, SETTINGS) as running:
        yield running


def places(diagnostics: list[dict[str, Any]]) -> set[tuple[int, int]]:
    """Line and column of each, counted from 1."""
    starts = [found["range"]["start"] for found in diagnostics]
    return {(start["line"] + 1, start["character"] + 1) for start in starts}


@pytest.mark.timeout(60)
def test_an_editor_shows_what_is_wrong_and_offers_what_is_right(server: LanguageServer, folder: Path) -> None:
    assert server.open(folder / "first.yaml") == []
    assert server.open(folder / "composed.yaml") == []
    wrong = folder / "wrong.yaml"
    diagnostics = server.open(wrong)
    assert places(diagnostics) == {(line, column) for line, column, _ in FOUND}
    for line, column, word in FOUND:
        assert [d for d in diagnostics if places([d]) == {(line, column)} and word in d["message"]], (line, diagnostics)
    assert server.completions(wrong, 9, 15) == set(kind_names())
    assert server.completions(wrong, 10, 24) == set(MAP)
    assert server.completions(wrong, 7, 39) == set(DTYPE_BITS)
    assert "Which pattern this is." in server.hover(wrong, 10, 14)
    assert "an expression of other extents" in server.hover(wrong, 3, 3)
