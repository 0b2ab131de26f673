"""Files are whole or not there, and places that cannot be written are refused with their reason."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from experiments.output import check_writable, write_file, write_folder
from patterns.errors import UserError


def test_a_folder_is_made_and_filled(tmp_path: Path) -> None:
    paths = write_folder(tmp_path / "a" / "b", {"x.csv": b"1", "y.csv": b"2"})
    assert [path.read_bytes() for path in paths] == [b"1", b"2"]
    assert sorted(entry.name for entry in (tmp_path / "a" / "b").iterdir()) == ["x.csv", "y.csv"]


def test_a_file_is_replaced_in_one_step_and_readable_by_others(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"old")
    write_file(file, b"new")
    assert file.read_bytes() == b"new"
    assert file.stat().st_mode & 0o777 == 0o666 & ~umask()


def test_a_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "x")
    check_writable(tmp_path / "link", folder=False)
    write_file(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "x").read_bytes() == b"new"
    (tmp_path / "astray").symlink_to(tmp_path / "nowhere" / "x")
    with pytest.raises(UserError, match="there is no folder"):
        check_writable(tmp_path / "astray", folder=False)


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        check_writable(tmp_path / "pipe", folder=False)
        write_file(tmp_path / "pipe", b"new")
        assert os.read(reader, 10) == b"new"
    finally:
        os.close(reader)
    assert [entry.name for entry in tmp_path.iterdir()] == ["pipe"]


def test_nothing_is_left_when_the_replacement_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: str, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(UserError, match=r"cannot write .*: no space left on device"):
        write_file(tmp_path / "x", b"new")
    assert list(tmp_path.iterdir()) == []


def test_a_place_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here")
    with pytest.raises(UserError, match="file is not a folder"):
        check_writable(tmp_path / "file" / "plots", folder=True)
    with pytest.raises(UserError, match="plots: not a directory"):
        write_folder(tmp_path / "file" / "plots", {"x": b""})
    assert (tmp_path / "file").read_text() == "here"


@pytest.mark.parametrize(
    ("place", "folder", "message"),
    [
        ("file", True, "it is not a folder"),
        ("", False, "it is a folder"),
        ("missing/trace.json", False, "there is no folder"),
        ("x" * 300, True, "file name too long"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_the_work(
    tmp_path: Path, place: str, folder: bool, message: str
) -> None:
    (tmp_path / "file").write_text("here")
    with pytest.raises(UserError, match=message):
        check_writable(tmp_path / place, folder=folder)
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_new_place_is_accepted_and_not_made(tmp_path: Path) -> None:
    check_writable(tmp_path / "a" / "plots", folder=True)
    check_writable(tmp_path / "trace.json", folder=False)
    assert list(tmp_path.iterdir()) == []


def umask() -> int:
    """The umask of the process."""
    found = os.umask(0)
    os.umask(found)
    return found
