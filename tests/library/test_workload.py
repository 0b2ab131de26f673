"""Workloads by name and by file."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from patterns.errors import SpecError, UnknownName, UserError
from patterns.library import config_names, graph_names, names, workload
from patterns.load import load_file

MINE = """
name: mine
extents: {n: 3}
tensors:
  x: {dims: [n], dtype: bf16, role: input}
nodes:
  y: {kind: map, fn: exp, reads: [x]}
"""


def test_every_name_is_a_workload() -> None:
    assert set(names()) == {*graph_names(), *config_names()}
    for name in names():
        assert workload(name).name == name


@pytest.mark.parametrize("name", graph_names())
def test_every_graph_says_where_it_is_from(name: str) -> None:
    data = load_file(files("patterns.library").joinpath(f"{name}.yaml")).data
    assert isinstance(data, dict)
    assert len(data["source"]) > 20


def test_a_file_is_a_workload(tmp_path: Path) -> None:
    path = tmp_path / "softmax.yaml"
    path.write_text(MINE)
    assert workload(str(path)).name == "mine"
    assert workload(str(path), overrides={"n": "2 * 5"}).sizes == {"n": 10}


def test_a_phase_sets_the_query_tokens() -> None:
    assert workload("llama-3.1-8b").sizes["seq"] == 1
    assert workload("llama-3.1-8b", phase="prefill", context=512).sizes["seq"] == 512
    assert workload("attention", phase="prefill", context=512, batch=3).shape("y") == (3, 512, 8, 4, 128)
    assert workload("llama", overrides={"seq": "2"}).sizes["seq"] == 2


def test_overrides_win() -> None:
    made = workload("llama-3.1-8b", context=512, overrides={"context": "64", "layers": "2"})
    assert (made.sizes["context"], made.block_named["decoder"].count) == (64, 2)


REFUSED: list[tuple[str, dict[str, object], type[UserError], str]] = [
    ("", {}, UnknownName, r"unknown workload ''; there is: "),
    ("/dev/null", {}, UserError, r"'/dev/null' is neither a file nor a folder"),
    ("softmx", {}, UnknownName, r"unknown workload 'softmx' \(did you mean 'softmax'\?\)"),
    ("llama-3.1-9b", {}, UnknownName, r"did you mean 'llama-3.1-8b'"),
    ("missing.yaml", {}, UserError, r"there is no file 'missing.yaml'"),
    ("a/folder/config.json", {}, UserError, r"there is no file"),
    ("llama", {"phase": "decoding"}, UnknownName, r"unknown phase 'decoding' \(did you mean 'decode'\?\)"),
    ("llama", {"context": 0}, UserError, r"context must be at least 1, is 0"),
    ("llama", {"batch": -3}, UserError, r"batch must be at least 1, is -3"),
    ("llama", {"members": 0}, UserError, r"members must be at least 1, is 0"),
    ("llama-3.1-8b", {"members": -1}, UserError, r"members must be at least 1, is -1"),
    ("llama", {"members": 3}, SpecError, r"'model_heads / tensor_parallel' is 10.6667, not a whole number"),
    ("softmax", {"members": 2}, UserError, r"softmax has no extent 'tensor_parallel': 2 members cannot share it"),
    ("softmax", {"context": 5}, UserError, r"softmax has no extent 'context': its context cannot be set"),
    ("softmax", {"phase": "prefill"}, UserError, r"softmax has no extent 'seq': it has no prefill"),
    ("llama-3.1-8b", {"overrides": {"layer": "3"}}, UnknownName, r"unknown extent 'layer' \(did you mean 'layers'\?\)"),
    ("llama", {"overrides": {"context": "0"}}, SpecError, r"--set context.*greater than 0"),
]


@pytest.mark.parametrize(("name", "how", "error", "message"), REFUSED)
def test_what_is_no_workload_is_refused(
    name: str, how: dict[str, object], error: type[UserError], message: str
) -> None:
    with pytest.raises(error, match=message):
        workload(name, **how)  # type: ignore[arg-type]


def test_a_folder_is_no_workload_but_may_hold_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"is a folder; a YAML file or a config.json is due"):
        workload(str(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(UserError, match=r"is a folder; did you mean '.*config.json'\?"):
        workload(str(tmp_path))


def test_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "graph.txt"
    path.write_text(MINE)
    with pytest.raises(UserError, match=r"files that are read end with .yaml, .yml, .json"):
        workload(str(path))
