"""Stores: what is in one stays, what is no store is left alone, and each way in which one fails is told in a line."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from experiments.cli import cli
from experiments.point import Point
from experiments.sweep.identity import tasks_of
from experiments.sweep.row import METRICS, Row, row_of
from experiments.sweep.run import summary_text
from experiments.sweep.store import Written, opened
from patterns.errors import UserError
from patterns.graph_file.contents import workload_digest
from tests.sweep.sweeps import SOFTMAX, rows_of, run_into, written

ROOT = Path(__file__).parents[2]
CHEAP = "fixed: {workload: softmax, machine: h100_sxm, mode: pattern, columns: 64}\ngrid: {rows: [16, 32]}\n"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store of two rows."""
    run_into(tmp_path / "s.db", written(tmp_path, CHEAP))
    return tmp_path / "s.db"


def command(*arguments: object) -> Result:
    """`patternloom` with these arguments."""
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def sql(path: Path, statement: str) -> None:
    """A statement of another program's."""
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


def test_what_is_there_is_not_run_again(tmp_path: Path) -> None:
    file, store = written(tmp_path, SOFTMAX), tmp_path / "s.db"
    assert run_into(store, file).ran == 12
    assert run_into(store, file).ran == 0
    more = written(tmp_path, SOFTMAX.replace("[16, 32, 48]", "[16, 32, 48, 64]"))
    assert run_into(store, more).ran == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cheap.yaml", "s.db"]


def test_rows_of_another_release_are_left_aside_and_told(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = store.with_name("cheap.yaml")
    assert "release" not in summary_text(run_into(store, file))
    monkeypatch.setattr("experiments.sweep.identity.model_version", lambda: "another")
    summary = run_into(store, file)
    assert (summary.ran, summary.outdated) == (2, 2)
    assert "; 2 rows of another release, or of files that were changed since, are left aside; " in summary_text(summary)
    assert run_into(store, file).outdated == 0


def test_points_that_another_sweep_of_the_name_had_are_told(tmp_path: Path) -> None:
    file, store = written(tmp_path, SOFTMAX), tmp_path / "s.db"
    assert run_into(store, file).dropped == 0
    fewer = written(tmp_path, SOFTMAX.replace("[16, 32, 48]", "[16, 64]"))
    summary = run_into(store, fewer)
    assert (summary.points, summary.ran, summary.dropped) == (8, 4, 8)
    told = "; 8 points of a sweep of this name that was there before left its table (the rows stay); "
    assert told in summary_text(summary)
    assert run_into(store, fewer).dropped == 0
    assert run_into(store, written(tmp_path, SOFTMAX)).ran == 0


def test_results_are_in_the_order_of_the_points_whoever_asks(tmp_path: Path) -> None:
    file, store = written(tmp_path, SOFTMAX), tmp_path / "s.db"
    printed = command("sweep", file, "-j", 1, "-o", store, "--format", "csv")
    assert (printed.exit_code, printed.stderr.partition(";")[0]) == (0, "12 points: 12 ok")
    assert command("results", store, "--format", "csv").stdout == printed.stdout
    rows = rows_of(printed.stdout)
    assert [(row["rows"], row["columns"]) for row in rows[:5]] == [
        ("16", "64"),
        ("16", "128"),
        ("16", "192"),
        ("16", "256"),
        ("32", "64"),
    ]


def test_several_sweeps_are_told_apart(store: Path, tmp_path: Path) -> None:
    run_into(store, written(tmp_path, CHEAP.replace("[16, 32]", "[32, 16, 8]"), "other"))
    assert command("results", store).stderr.endswith("has several sweeps: name one with --sweep: cheap, other\n")
    rows = rows_of(command("results", store, "--sweep", "other", "--format", "csv").stdout)
    assert [row["rows"] for row in rows] == ["32", "16", "8"]
    assert "unknown sweep 'othr' (did you mean 'other'?)" in command("results", store, "--sweep", "othr").stderr


def test_failed_rows_are_kept_and_run_again_only_when_asked(tmp_path: Path) -> None:
    file, store = written(tmp_path, CHEAP.replace("pattern", "looped")), tmp_path / "s.db"
    assert dict(run_into(store, file).statuses) == {"failed": 2}
    assert run_into(store, file).ran == 0
    assert run_into(store, file, retry=True).ran == 2


@pytest.mark.parametrize(
    ("rows", "flags", "status"),
    [("[16]", [], 0), ("[16, 0]", [], 3), ("[16, 0]", ["--allow-failed"], 0), ("[0]", ["--allow-failed"], 3)],
)
def test_the_exit_status_says_whether_points_failed(tmp_path: Path, rows: str, flags: list[str], status: int) -> None:
    file = written(tmp_path, CHEAP.replace("[16, 32]", rows))
    result = CliRunner().invoke(cli, ["sweep", str(file), "-j", "1", *flags], standalone_mode=False)
    assert result.return_value == status


def test_no_points_give_an_empty_table_and_a_message(tmp_path: Path) -> None:
    result = command("sweep", written(tmp_path, CHEAP + "where: rows > 99\n"), "--format", "csv")
    assert (result.exit_code, result.stdout) == (0, "\n")
    assert result.stderr == "no points: nothing passes the filter, or nothing is listed\n"


def test_a_file_that_is_gone_is_told_and_nothing_old_is_taken(tmp_path: Path) -> None:
    graph = tmp_path / "mine.yaml"
    text = (ROOT / "patterns/library/softmax.yaml").read_text(encoding="utf-8")
    graph.write_text(text, encoding="utf-8")
    sweep = CHEAP.replace("workload: softmax", "workload: mine.yaml") + "x-note: ours\n"
    file, store = written(tmp_path, sweep), tmp_path / "s.db"
    assert dict(run_into(store, file).statuses) == {"ok": 2}
    graph.unlink()
    gone = command("sweep", file, "-j", 1, "-o", store, "--format", "csv")
    assert {row["status"] for row in rows_of(gone.stdout)} == {"failed"}
    assert {row["message"] for row in rows_of(gone.stdout)} == {f"there is no file '{graph}'"}
    graph.write_text(text + "# changed\n", encoding="utf-8")
    assert run_into(store, file).ran == 2
    graph.write_text(text, encoding="utf-8")
    assert run_into(store, file).ran == 0


def test_a_file_that_is_used_counts_too(tmp_path: Path) -> None:
    (tmp_path / "part.yaml").write_text((ROOT / "patterns/library/softmax.yaml").read_text("utf-8"), encoding="utf-8")
    (tmp_path / "whole.yaml").write_text("name: whole\nblocks:\n  a: {use: part.yaml}\n", encoding="utf-8")
    file = written(tmp_path, "fixed: {workload: whole.yaml, machine: h100_sxm, mode: pattern}\n")
    store = tmp_path / "s.db"
    run_into(store, file)
    with (tmp_path / "part.yaml").open("a") as part:
        part.write("# changed\n")
    assert run_into(store, file).ran == 1


def test_of_a_checkpoint_its_config_and_its_shapes_count_and_its_weights_are_not_read(tmp_path: Path) -> None:
    header = json.dumps({"w": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}).encode()
    place = tmp_path / "model.safetensors"
    place.write_bytes(len(header).to_bytes(8, "little") + header + b"\0\0\0\0")
    alone = workload_digest(str(place))
    (tmp_path / "config.json").write_text("{}")
    with_config = workload_digest(str(place))
    (tmp_path / "config.json").write_text('{"changed": 1}')
    changed = workload_digest(str(place))
    assert len({alone, with_config, changed}) == 3
    place.write_bytes(len(header).to_bytes(8, "little") + header + b"\1\1\1\1")
    assert workload_digest(str(place)) == changed


def test_a_file_that_is_changed_while_a_sweep_runs_is_told(tmp_path: Path) -> None:
    graph = tmp_path / "mine.yaml"
    graph.write_text((ROOT / "patterns/library/softmax.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    point = Point(str(graph), "h100_sxm", "pattern", settings=(("graph.rows", "16"),))
    (task,) = tasks_of([point], ())
    assert row_of(point, (), task.content).status == "ok"
    (other,) = tasks_of([replace(point, settings=())], ())
    with graph.open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    row = row_of(other.point, (), other.content)
    assert (row.status, row.message) == ("failed", f"{graph} was changed while the sweep ran: run it again")


def text_instead(path: Path) -> None:
    path.write_text("name,value\n", encoding="utf-8")


def half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:6000])


def scribbled(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096:] = bytes(byte * 7 % 256 for byte in content[4096:])
    path.write_bytes(content)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (text_instead, "is no store of results"),
        (half, "is damaged (database disk image is malformed)"),
        (scribbled, "is damaged ("),
        (folder, "is a folder"),
        (lambda path: sql(path, "PRAGMA user_version = 9"), "is of version 9, and this release reads version 1"),
        (lambda path: sql(path, "PRAGMA application_id = 9"), "is an SQLite file of another program"),
    ],
)
def test_what_is_no_store_of_ours_is_left_as_it_is(store: Path, harm: Callable[[Path], None], told: str) -> None:
    harm(store)
    before = store.read_bytes() if store.is_file() else b""
    for arguments in (("sweep", store.with_name("cheap.yaml"), "-o", store), ("results", store)):
        result = command(*arguments)
        assert result.exit_code == 2
        assert result.stderr.count("\n") == 1
        assert told in result.stderr or "there is no store" in result.stderr
    assert before == (store.read_bytes() if store.is_file() else b"")


def test_a_store_has_one_writer_and_any_readers(store: Path) -> None:
    with opened(str(store)) as first:
        result = command("sweep", store.with_name("cheap.yaml"), "-o", store)
        assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
        assert "is in use: another sweep writes to it" in result.stderr
        first.add([("key", Row("ok"))])
        assert len(rows_of(command("results", store, "--format", "csv").stdout)) == 2


def test_a_lock_of_another_program_is_told(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.sweep.store.BUSY_S", 0.1)
    other = sqlite3.connect(store)
    other.execute("BEGIN EXCLUSIVE")
    result = command("sweep", store.with_name("cheap.yaml"), "-o", store)
    other.close()
    assert result.exit_code == 2
    assert "is locked by another program" in result.stderr


def test_a_store_that_may_not_be_written(store: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everything")
    store.chmod(0o400)
    assert "no permission to write to it" in command("sweep", store.with_name("cheap.yaml"), "-o", store).stderr


def test_a_full_disk_keeps_the_rows_so_far(tmp_path: Path) -> None:
    code = f"""
import resource
from pathlib import Path
from experiments.sweep.identity import tasks_of
from experiments.sweep.row import METRICS, Row, row_of
from experiments.sweep.store import Written, opened
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
with opened({str(tmp_path / "s.db")!r}) as store:
    store.enter(Written("s", "", ("a",), ("a",)), [(f"k{{i}}", {{"a": i}}) for i in range(1000)])
    for i in range(1000):
        store.add([(f"k{{i}}", Row("ok", metrics=(i,) * len(METRICS), message="x" * 400))])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": str(ROOT)})
    assert "UserError: the store" in done.stderr
    assert "cannot grow: no room, or the disk failed" in done.stderr
    with opened(str(tmp_path / "s.db")) as store:
        kept = [row.metrics[0] for _, row in store.rows("s") if row is not None]
    assert 10 < len(kept) < 1000
    assert kept == list(range(len(kept)))


def test_numbers_come_back_as_they_were(tmp_path: Path) -> None:
    numbers = (3, None, 0.1, 1e300, 2**62, *range(len(METRICS) - 5))
    row = Row("infeasible", "m", "b", numbers, "é\n", "r", 2**70, 0, "n", (("overlap_idle_s", 0.25),))
    with opened(str(tmp_path / "s.db")) as store:
        store.enter(Written("s", "why", ("a", "b"), ("b",)), [("k", {"a": "é", "b": 1.5}), ("none", {"a": 1})])
        store.add([("k", row)])
        found = list(store.rows("s"))
        assert store.sweep("s") == Written("s", "why", ("a", "b"), ("b",))
    assert found[0][0] == {"a": "é", "b": 1.5}
    assert found[0][1] == Row("infeasible", "m", "b", numbers, "é\n", "r", 2**70, 0, "n", (("overlap_idle_s", 0.25),))
    assert found[1] == ({"a": 1}, None)


def test_a_store_is_the_file_that_is_named(tmp_path: Path) -> None:
    place = tmp_path / "100% a?b#c.db"
    with opened(str(place)) as store:
        store.add([("a key", Row("failed"))])
    assert [path.name for path in tmp_path.iterdir()] == [place.name]
    with opened(str(place), write=False) as store:
        assert store.statuses() == {"a key": "failed"}


def test_reading_makes_no_store(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no store"), opened(str(tmp_path / "s.db"), write=False):
        pass
    assert list(tmp_path.iterdir()) == []
