"""The command as a process: exit status, streams, encodings, a terminal."""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.__main__ import run

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "experiments"]


def environment(**changes: str) -> dict[str, str]:
    """The environment of a process that finds the checkout from any folder."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **changes}


def test_it_runs_from_another_folder_and_says_its_version(tmp_path: Path) -> None:
    done = subprocess.run([*COMMAND, "--version"], cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("patternloom ")


def test_a_closed_pipe_is_quiet(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*COMMAND, "show", "softmax"], cwd=tmp_path, env=environment(), stdout=writing, stderr=subprocess.PIPE
    )
    os.close(writing)
    assert done.returncode != 0
    assert done.stderr == b""


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    if not Path("/dev/full").is_char_device():
        pytest.skip("there is no /dev/full here")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, "show", "softmax"],
            cwd=tmp_path,
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert (done.returncode, done.stderr) == (2, "Error: cannot write the output: no space left on device\n")


def test_without_a_stdout_nothing_is_printed(tmp_path: Path) -> None:
    command = f'"{sys.executable}" -m experiments show softmax >&-'
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("closed", "lines"), [("2>&-", 2), (">&- 2>&- <&-", 0)])
def test_without_streams_workers_run_all_the_same(tmp_path: Path, closed: str, lines: int) -> None:
    (tmp_path / "s.yaml").write_text("fixed: {workload: softmax, machine: h100_sxm}\n")
    command = f'"{sys.executable}" -m experiments sweep s.yaml -j 2 --format csv -o s.db {closed}'
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True)
    assert (done.returncode, done.stdout.count("\n")) == (0, lines)


def test_a_name_that_the_system_refuses_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    for arguments in (["check", "long" * 100 + ".yaml"], ["results", "long" * 100], ["profile", "long" * 100]):
        assert run(arguments) == 2
        told = capfd.readouterr().err
        assert told.startswith("Error: ")
        assert told.endswith("file name too long\n")


def test_ctrl_c_is_130(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("patterns.read.read_with_warnings", interrupted)
    assert run(["check", "softmax"]) == 130
    assert "Traceback" not in capfd.readouterr().err


def test_a_bug_is_not_dressed_up_as_a_mistake_of_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("patterns.read.read_with_warnings", broken)
    with pytest.raises(ZeroDivisionError):
        run(["check", "softmax"])


def test_a_terminal_that_knows_only_ascii_gets_an_answer(tmp_path: Path) -> None:
    command = [*COMMAND, "show", "gemm", "--machine", "lecture_sm", "--schedule", "multistage", "--stages", "4"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(PYTHONIOENCODING="ascii"), capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "TC" in done.stdout


@pytest.mark.parametrize(("term", "drawn"), [("xterm", "─" * 20), ("dumb", "-" * 20)])
def test_a_terminal_gets_drawn_tables(tmp_path: Path, term: str, drawn: str) -> None:
    primary, secondary = pty.openpty()
    env = environment(TERM=term, COLUMNS="100")
    done = subprocess.run(
        [*COMMAND, "show", "softmax"], cwd=tmp_path, env=env, stdout=secondary, stderr=subprocess.PIPE
    )
    os.close(secondary)
    printed = os.read(primary, 100_000).decode()
    os.close(primary)
    assert (done.returncode, done.stderr) == (0, b"")
    assert drawn in printed


def test_a_terminal_gets_no_parquet_and_nothing_is_run_for_it(tmp_path: Path) -> None:
    primary, secondary = pty.openpty()
    command = [*COMMAND, "sweep", "decode_by_context", "--format", "parquet", "-o", "rows.db"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), stdout=secondary, stderr=subprocess.PIPE, text=True)
    os.close(secondary)
    # Linux gives an error in place of an end.
    with contextlib.suppress(OSError):
        assert os.read(primary, 1000) == b""
    os.close(primary)
    assert done.returncode == 2
    assert done.stderr == "Error: Parquet is no text: send it to a file, as in --format parquet > rows.parquet\n"
    assert not list(tmp_path.iterdir())


def test_the_order_of_sets_changes_no_byte(tmp_path: Path) -> None:
    arguments = ["compare", "softmax", "--policy", "library", "--mode", "fused", "--json", "--trace"]
    made = []
    for seed in ("1", "2"):
        trace = tmp_path / f"{seed}.json"
        env = environment(PYTHONHASHSEED=seed)
        done = subprocess.run([*COMMAND, *arguments, str(trace)], env=env, capture_output=True, check=True)
        made.append((done.stdout, trace.read_bytes()))
    assert made[0] == made[1]
