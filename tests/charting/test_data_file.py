"""Columns of one's own table are drawn as asked, and what cannot be drawn is refused in one line."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from experiments.charting.asked import Asked
from experiments.charting.data_file import read_records
from experiments.cli import cli
from experiments.picture import in_style, plot_kinds
from experiments.plot.scaling import Scaling
from patterns.errors import UserError
from patterns.plugin import load_module

TABLE = """mode,batch,members,time_us,bound_us,note
gpu,1,1,100,50,
gpu,2,2,60,25,
gpu,4,4,40,12.5,x
rdu,1,1,80,60,
rdu,2,2,40,30,
rdu,4,4,,15,does not fit
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    file = tmp_path / "table.csv"
    file.write_text(TABLE)
    return file


def plot(table: Path, *options: str) -> Result:
    out = table.parent / "out"
    return CliRunner().invoke(cli, ["plot", "--data", str(table), *options, "-o", str(out)])


def test_lines_of_a_table_are_written_with_their_columns(table: Path) -> None:
    result = plot(table, "--kind", "lines", "--x", "batch", "--y", "time_us", "--by", "mode", "--where", "batch=2")
    assert result.exit_code == 0, result.output
    written = [Path(line).name for line in result.output.split()]
    sizes = [f"lines{size}.{suffix}" for size in ("", "_one_column") for suffix in ("png", "svg", "pdf")]
    assert written == [*sizes, "lines.csv"]
    rows = list(csv.DictReader(io.StringIO((table.parent / "out" / "lines.csv").read_text())))
    assert rows == [{"mode": m, "batch": "2", "time_us": t} for m, t in (("gpu", "60"), ("rdu", "40"))]


def test_speed_up_is_beside_its_ideal(table: Path) -> None:
    with in_style():
        picture = Scaling("s", "members", "time_us", by="mode").draw(read_records(table))
    found = [(row["mode"], row["members"], row["speed_up"], row["ideal"]) for row in picture.rows]
    assert found == [("gpu", 1, 1, 1), ("gpu", 2, 100 / 60, 2), ("gpu", 4, 2.5, 4), ("rdu", 1, 1, 1), ("rdu", 2, 2, 2)]
    drawn = [list(map(float, line.get_ydata())) for line in picture.figure.axes[0].lines]
    assert drawn[0] == [1, 100 / 60, 2.5]
    assert drawn[1] == [1, 2, 4]


def test_rows_are_read_from_json_too(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    file.write_text(json.dumps({"rows": [{"a": 1, "b": 2.5}, {"a": 2}]}))
    assert read_records(file) == ({"a": 1, "b": 2.5}, {"a": 2, "b": None})


def test_every_kind_of_columns_is_made_from_options() -> None:
    for kind in plot_kinds("data"):
        module = load_module("experiments.plot", kind, "plot")
        asked = Asked(kind, kind, x="a", y=("b",), value="c" if kind == "heat_map" else "")
        assert module.chart(asked).name == kind
        with pytest.raises(UserError, match=f"a plot of kind {kind} needs --x and --y"):
            module.chart(Asked(kind, kind))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--kind", "lines", "--x", "batch"), "needs --y"),
        (("--kind", "lines", "--x", "batch", "--y", "timeus"), "did you mean 'time_us'"),
        (("--kind", "lines", "--x", "batch", "--y", "note"), "column note cannot be drawn as a number: it has 'x'"),
        (("--kind", "lines", "--x", "batch", "--y", "time_us", "--value", "note"), "--value: says nothing"),
        (("--kind", "lines", "--x", "batch", "--y", "time_us", "--where", "mode=tpu"), "mode is gpu, rdu"),
        (("--kind", "heat_map", "--x", "mode", "--y", "mode", "--value", "time_us"), "there are two"),
        (("--kind", "scaling", "--x", "members", "--y", "time_us"), "give --by or --where"),
        (
            (
                "--kind",
                "fusion",
            ),
            "--data is drawn as one --kind: bars, heat_map, lines, scaling",
        ),
        (("softmax", "--kind", "lines"), "a workload: says nothing to --data"),
        (("--kind", "lines", "--gpus", "2"), "--gpus: says nothing to --data"),
    ],
)
def test_what_cannot_be_drawn_is_refused(table: Path, options: tuple[str, ...], message: str) -> None:
    result = plot(table, *options)
    assert result.exit_code != 0
    told = str(result.exception) if isinstance(result.exception, UserError) else result.output
    assert message in told
    assert not (table.parent / "out").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a table"),
        (b"a,b\n", "has no rows"),
        (b"a,b\n1,2,3\n", ":2: 3 cells under 2 headings"),
        (b"a,b,a\n1,2,3\n", ":1: several columns are called 'a'"),
        (b'a,b\n1,"2\n', "is broken: "),
        (b"\xff\xfe\x00", "is not a table"),
        (b'{"rows": 3}', "has no rows"),
        (b'{"rows": [', "is not JSON"),
        (b"SQLite format 3\x00" + b"\x00" * 100, "table"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "table"
    file.write_bytes(content)
    with pytest.raises(UserError, match=message):
        read_records(file)
    with pytest.raises(UserError, match="no such file"):
        read_records(tmp_path / "none")


# Another seed of hashes than the test's process: nothing drawn may depend on the order of a set.
DRAW = """
import sys
from experiments.cli import cli
try:
    columns = ["--x", "batch", "--y", "time_us", "--by", "mode"]
    cli(["plot", "--data", sys.argv[1], "--kind", "lines", *columns, "-o", sys.argv[2]])
except SystemExit as done:
    assert not done.code, done.code
assert not {"matplotlib.pyplot", "tkinter"} & set(sys.modules)
"""


def test_no_window_is_needed_and_any_process_draws_the_same_bytes(table: Path, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "DISPLAY"}
    environment |= {"MPLBACKEND": "TkAgg", "PYTHONHASHSEED": "77"}
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", DRAW, str(table), str(tmp_path / "apart")]
    done = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert plot(table, "--kind", "lines", "--x", "batch", "--y", "time_us", "--by", "mode").exit_code == 0
    files = sorted((tmp_path / "apart").iterdir())
    assert len(files) == 7
    assert [file.name for file in files if file.read_bytes() != (tmp_path / "out" / file.name).read_bytes()] == []
