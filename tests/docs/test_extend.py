"""The page on adding things: with its files in their folders, and no other change, its commands print what it shows."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "extend.md"
pages = runpy.run_path(str(Path(__file__).with_name("pages.py")), run_name="pages")


def linked(folder: Path, tree: Path) -> None:
    """A folder with the same folders, and links to the files."""
    tree.mkdir()
    for entry in os.scandir(folder):
        if entry.is_dir():
            linked(Path(entry.path), tree / entry.name)
        else:
            (tree / entry.name).symlink_to(entry.path)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The packages with the page's files among them, each of which is new."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for package in pages["PACKAGES"]:
        linked(ROOT / package, tree / package)
    for name, content in pages["files"](PAGE.read_text(encoding="utf-8")):
        if name.split("/")[0] in pages["PACKAGES"]:
            assert not (tree / name).exists(), name
            (tree / name).write_text(content, encoding="utf-8")
    return tree


def test_what_the_page_adds_works_as_it_shows(tree: Path, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    work = tmp_path / "work"
    work.mkdir()
    done = subprocess.run(
        [sys.executable, "-P", str(Path(__file__).with_name("pages.py")), str(PAGE), str(work)],
        env=os.environ | {"PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found, text = json.loads(done.stdout), PAGE.read_text(encoding="utf-8")
    if pytestconfig.getoption("--update-golden"):
        text = pages["refreshed"](text, found)
        PAGE.write_text(text, encoding="utf-8")
    shown = dict(pages["CONSOLE"].findall(text))
    assert len(shown) > 14
    assert found == shown
    assert [command for command, output in found.items() if output.startswith(("Error: ", "Usage")) or not output] == []


def test_every_folder_of_the_table_is_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    named = set(pages["re"].findall(r"`([a-z_/]+)/NAME\.\w+`", text))
    assert [name for name in named if not (ROOT / name).is_dir()] == []
    assert len(named) > 20
