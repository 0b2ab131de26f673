"""The page on recordings: its commands print what it shows, on the recording that it shows."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "profile.md"
pages = runpy.run_path(str(ROOT / "tests" / "docs" / "pages.py"), run_name="pages")


def test_commands_print_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    found = pages["followed"](PAGE)
    text = PAGE.read_text(encoding="utf-8")
    if pytestconfig.getoption("--update-golden"):
        text = pages["refreshed"](text, found)
        PAGE.write_text(text, encoding="utf-8")
    shown = dict(pages["CONSOLE"].findall(text))
    assert len(shown) == 3
    assert found == shown
