"""Running all studies: what is there is skipped, what fails stops nothing, and other files of a folder stay."""

from __future__ import annotations

import errno
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from experiments import output, study, study_folder, study_queue
from experiments.__main__ import run as main
from experiments.cli import cli
from experiments.study_queue import run_studies
from patterns.errors import UserError

NAMES = ("calls_per_token", "kernel_looping", "workloads")


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of studies as they are run, by a stand-in; one of them fails the first time."""
    found: list[str] = []

    def run(name: str, tell: Callable[[str], None]) -> study.Result:
        found.append(name)
        tell("a row")
        if name == "kernel_looping" and len(found) < 3:
            raise UserError("no room for it")
        return study.Result(f"{name} found", (("page.html", b"page"), ("table.csv", b"a,b\n")))

    monkeypatch.setattr(study, "study_names", lambda: NAMES)
    monkeypatch.setattr(study, "run_study", run)
    return found


def run_all(folder: Path, *more: str) -> Result:
    return CliRunner().invoke(cli, ["run", "all", "-j", "1", "-o", str(folder), *more], standalone_mode=False)


def test_a_study_that_fails_stops_no_other_and_is_run_when_all_are_run_again(tmp_path: Path, ran: list[str]) -> None:
    first = run_all(tmp_path)
    assert first.return_value == 3
    assert ran == list(NAMES)
    assert first.stdout == "calls_per_token: calls_per_token found\nworkloads: workloads found\n"
    assert "kernel_looping failed: no room for it" in first.stderr
    assert "1 of 3 studies failed: kernel_looping" in first.stderr
    assert not (tmp_path / "kernel_looping").exists()

    second = run_all(tmp_path)
    assert second.return_value == 0
    assert ran == [*NAMES, "kernel_looping"]
    assert second.stderr.count("was made before: skipped") == 2
    assert second.stdout.splitlines() == [f"{name}: {name} found" for name in NAMES]
    index = (tmp_path / "index.html").read_text()
    assert all(f'href="{name}/page.html"' in index for name in NAMES)

    assert run_all(tmp_path, "--again").return_value == 0
    assert ran[4:] == list(NAMES)


def spoil_a_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "table.csv").write_text("a,c\n")


def lose_a_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "page.html").unlink()


def cut_the_record(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = folder / study_folder.RECORD
    record.write_text(record.read_text()[:40])


def say_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / study_folder.RECORD).write_text(json.dumps(["calls_per_token"]))


def write_as_a_newer_release(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = folder / study_folder.RECORD
    told = json.loads(record.read_text())
    record.write_text(json.dumps({"format": 9, **told, "version": 9, "files": list(told["files"])}))


def change_the_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_folder, "_shared_version", lambda: "another")


@pytest.mark.parametrize(
    "spoil",
    [spoil_a_file, lose_a_file, cut_the_record, say_nothing, write_as_a_newer_release, change_the_model],
)
def test_a_folder_is_made_again_unless_it_is_whole_and_the_same(
    spoil: Callable[[Path, pytest.MonkeyPatch], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "calls_per_token"
    made = study.Result("found", (("page.html", b"page"), ("table.csv", b"a,b\n")))
    study_folder.write_study(folder, "calls_per_token", made)
    assert study_folder.made_before(folder, "calls_per_token") == "found"
    assert study_folder.made_before(folder, "workloads") is None
    spoil(folder, monkeypatch)
    assert study_folder.made_before(folder, "calls_per_token") is None


def test_a_study_that_another_file_takes_from_counts_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    taken, source = b"from experiments.studies.schedule_ranking import STUDY", b"as it was"
    monkeypatch.setattr(study_folder, "_source", lambda study: source if study == "schedule_ranking" else taken)
    monkeypatch.setattr(study_folder, "_shared_version", lambda: "the same")
    before = study_folder.study_version("what_takes_it")
    source = b"changed"
    assert study_folder.study_version("what_takes_it") != before
    assert study_folder._with_taken(b"import experiments") == b"import experiments"


def test_other_files_of_a_folder_stay_and_those_of_the_same_name_are_replaced(tmp_path: Path, ran: list[str]) -> None:
    folder = tmp_path / "workloads"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    (folder / "page.html").write_text("old")
    run_all(tmp_path)
    assert (folder / "notes.txt").read_text() == "mine"
    assert (folder / "page.html").read_text() == "page"


@pytest.mark.parametrize("place", ["workloads", "workloads/page.html/", "index.html/"])
def test_what_cannot_be_written_is_refused_before_anything_is_run(place: str, tmp_path: Path, ran: list[str]) -> None:
    path = tmp_path / place
    if place.endswith("/"):
        path.mkdir(parents=True)
    else:
        path.write_text("a file")
    result = CliRunner().invoke(cli, ["run", "all", "-j", "1", "-o", str(tmp_path)])
    assert result.exit_code == 2
    assert str(path) in result.stderr
    assert not ran


def test_a_full_disk_ends_the_run_and_the_studies_so_far_are_kept(
    tmp_path: Path, ran: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write = output.replace_file

    def full_after_a_study(path: Path, content: bytes) -> None:
        if path.parent.name == "kernel_looping":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(path, content)

    ran += ["", ""]
    monkeypatch.setattr(output, "replace_file", full_after_a_study)
    result = CliRunner().invoke(cli, ["run", "all", "-j", "1", "-o", str(tmp_path)])
    assert result.exit_code == 2
    assert ran[2:] == ["calls_per_token", "kernel_looping"]
    assert "no space left on device; the studies so far are kept: make room and run it again" in result.stderr
    assert study_folder.made_before(tmp_path / "calls_per_token", "calls_per_token") is not None


def test_a_place_where_nothing_can_be_made_is_refused_first(
    tmp_path: Path, ran: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "mkdir", refuse)
    result = CliRunner().invoke(cli, ["run", "all", "-j", "1", "-o", str(tmp_path / "there")])
    assert (result.exit_code, ran) == (2, [])
    assert "read-only file system" in result.stderr


def test_a_study_in_a_process_of_its_own_is_written_and_a_mistake_is_told(tmp_path: Path) -> None:
    ended = {one.name: one for one in run_studies(("littles_law", "unheard_of"), tmp_path, 2, lambda text: None)}
    assert study_folder.made_before(tmp_path / "littles_law", "littles_law") == ended["littles_law"].finding
    assert "unknown study 'unheard_of'" in ended["unheard_of"].failure


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("all", "stopped; 1 of 3 studies are kept in {folder}: run it again to make the others\n"),
        ("kernel_looping", "stopped; {folder}/kernel_looping is as far as it was written: run it again"),
    ],
)
def test_when_it_is_stopped_it_says_what_is_kept(
    asked: str,
    told: str,
    tmp_path: Path,
    ran: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    write = study_folder.write_study

    def stopped(folder: Path, name: str, result: study.Result) -> tuple[Path, ...]:
        if name == "kernel_looping":
            raise KeyboardInterrupt
        return write(folder, name, result)

    ran += ["", ""]
    monkeypatch.setattr(study_folder, "write_study", stopped)
    monkeypatch.setattr(study_queue, "write_study", stopped)
    assert main(["run", asked, "-j", "1", "-o", str(tmp_path)]) == 130
    assert told.format(folder=tmp_path) in capfd.readouterr().err
    # What was made before the signal is whole, so that the next run goes on with the rest.
    whole = study_folder.made_before(tmp_path / "calls_per_token", "calls_per_token")
    assert whole == ("calls_per_token found" if asked == "all" else None)


def test_a_process_may_tell_more_than_a_pipe_holds(tmp_path: Path) -> None:
    def hung(*_: object) -> None:
        raise AssertionError("the queue waits for a process that waits for it")

    long = "x" * 2**18
    before = signal.signal(signal.SIGALRM, hung)
    signal.alarm(30)
    try:
        told = [one.failure for one in run_studies((long, "y"), tmp_path, 2, lambda text: None)]
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert {len(text) > len(long) for text in told} == {True, False}


def test_processes_are_started_so_that_they_never_see_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[set[int]] = []

    def started(*_: object) -> None:
        held.append({int(one) for one in signal.pthread_sigmask(signal.SIG_BLOCK, set())})
        raise UserError("enough")

    monkeypatch.setattr(study_queue, "_started", started)
    with pytest.raises(UserError, match="enough"):
        list(run_studies(("littles_law", "workloads"), tmp_path, 2, lambda text: None))
    assert [signal.SIGINT in one for one in held] == [True]
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, set())
