"""What a store may be called: never as a table is, and never what is no file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from experiments.cli import cli
from tests.sweep.sweeps import SOFTMAX, written


def command(*arguments: object) -> Result:
    """A run of the command line."""
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


@pytest.mark.parametrize("name", ["rows.csv", "rows.json", "rows.parquet"])
def test_a_store_is_not_called_as_a_table(tmp_path: Path, name: str) -> None:
    result = command("sweep", written(tmp_path, SOFTMAX), "-o", tmp_path / name)
    assert result.exit_code == 2
    assert f"`patternloom results STORE -o {tmp_path / name}` writes its rows there" in result.stderr
    assert not (tmp_path / name).exists()


def test_what_is_no_file_is_no_store(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.db")
    pipe = tmp_path / "pipe.db"
    for arguments in (("sweep", written(tmp_path, SOFTMAX), "-o", pipe), ("results", pipe)):
        result = command(*arguments)
        assert (result.exit_code, result.stderr) == (2, f"Error: {pipe} is no file\n")
