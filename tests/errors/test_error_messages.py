"""One small bad file per mistake; the whole message of each is a golden file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from patterns.documents.parameters import read_parameters
from patterns.errors import SpecError, UnknownName, UserError
from patterns.read import parse_graph, read_graph

HERE = Path(__file__).parent
GRAPHS = sorted((HERE / "graphs").glob("*.yaml"))
MACHINES = sorted((HERE / "machines").glob("*.yaml"))


@dataclass(frozen=True)
class Machine:
    """A field of each sort that messages tell apart."""

    cores: int
    clock_hz: int
    hbm_bytes_per_s: float
    smem_bytes_per_core: int
    launch_ps: int
    efficiency: float
    flops_per_cycle: tuple[tuple[str, int], ...] = ()
    shape: tuple[int, int] = (1, 1)
    letters: tuple[str, ...] = ()
    mode: Literal["fast", "slow"] = "fast"


@pytest.mark.parametrize("path", GRAPHS, ids=[path.stem for path in GRAPHS])
def test_each_wrong_graph_says_what_would_be_right(path: Path, golden: Callable[[str, str], None]) -> None:
    with pytest.raises(SpecError) as caught:
        parse_graph(path.read_text(encoding="utf-8"), path.name)
    golden(f"errors/graphs/{path.stem}.txt", f"{caught.value}\n")


@pytest.mark.parametrize("path", MACHINES, ids=[path.stem for path in MACHINES])
def test_each_wrong_machine_says_what_would_be_right(path: Path, golden: Callable[[str, str], None]) -> None:
    with pytest.raises(SpecError) as caught:
        read_parameters(path, Machine)
    golden(f"errors/machines/{path.stem}.txt", f"{caught.value}\n".replace(f"{path.parent}/", ""))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read .*/absent\.yaml: No such file or directory"):
        read_graph(tmp_path / "absent.yaml")


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read .*: Is a directory"):
        read_graph(str(tmp_path))


def test_text_that_is_not_utf_8(tmp_path: Path) -> None:
    file = tmp_path / "latin.yaml"
    file.write_bytes(b"name: a\n# \xe9t\xe9\n")
    with pytest.raises(SpecError, match=r"latin\.yaml:2:3: not UTF-8 text"):
        read_graph(file)


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    file = tmp_path / "marked.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + SOFTMAX.encode())
    assert read_graph(file) == parse_graph(SOFTMAX)


SOFTMAX = """
name: softmax
extents: {rows: 8, columns: rows * 2}
tensors:
  x: {dims: [rows, columns], dtype: bf16, role: input}
nodes:
  e: {kind: map, fn: exp, reads: [x]}
"""


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"rows": "0"}, "--set rows:1:1: an extent is greater than 0, found 0"),
        ({"rows": "-3"}, "--set rows:1:1: an extent is greater than 0, found -3"),
        ({"rows": "8.5"}, "--set rows:1:1: '8.5' is 8.5, not a whole number; use // or ceildiv"),
        ({"rows": "2 * (8"}, "--set rows:1:5: '2 * (8' is not arithmetic; allowed are + - "),
        ({"rows": "4 + rwos"}, "--set rows:1:5: unknown extent 'rwos' (did you mean 'rows'?)"),
        ({"rows": "columns"}, "--set rows:1:1: refers to itself: rows -> columns -> rows"),
        ({"rows": ""}, "--set rows:1:1: '' is not arithmetic"),
    ],
)
def test_a_wrong_override_is_placed_on_the_command_line(overrides: dict[str, str], message: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_graph(SOFTMAX, overrides=overrides)
    assert str(caught.value).startswith(message)


def test_an_override_of_no_extent() -> None:
    with pytest.raises(UnknownName, match=r"unknown extent 'row' \(did you mean 'rows'\?\); there is: columns, rows"):
        parse_graph(SOFTMAX, overrides={"row": "8"})
    with pytest.raises(UnknownName, match=r"unknown extent 'ROWS' \(did you mean 'rows'\?\)"):
        parse_graph(SOFTMAX, overrides={"ROWS": "8"})
