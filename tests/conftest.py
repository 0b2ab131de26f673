"""Fixtures that every test may use."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# Tests run on shared machines: how long one example takes says nothing about the code. What a change is judged by tries
# the same examples each time; other runs try new ones.
settings.register_profile("patternloom", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("patternloom")

GOLDEN_FOLDER = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` rewrites the golden files with what the code says now."""
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files with the current output")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)` asserts that tests/golden/<name> holds exactly `text`."""

    def check(name: str, text: str) -> None:
        path = GOLDEN_FOLDER / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"no golden file {name}: run pytest with --update-golden and read what it writes"
        assert text == path.read_text(encoding="utf-8"), f"{name} differs; if the change is meant, run --update-golden"

    return check
