"""A page in headless Chromium, and what went wrong in it. Needs the system's browser; nothing is downloaded."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# Set by whoever has put a browser in place: then it must be there, and no test may leave itself out.
EXPECTED = "PATTERNLOOM_BROWSER"
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass
class Heard:
    """What a page asked of the network, and what it complained of."""

    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


def browser_path() -> str:
    """The browser's program. Skips the test where there is none; fails where one was promised."""
    promised = os.environ.get(EXPECTED, "")
    if promised and not Path(promised).is_file():
        pytest.fail(f"{EXPECTED} says that there is a browser at {promised}, and there is none")
    found = promised or shutil.which("chromium") or shutil.which("chromium-browser") or ""
    return found or pytest.skip("no chromium: pages are not looked at")


@contextmanager
def opened_browser() -> Iterator[Browser]:
    """Headless Chromium."""
    path = browser_path()
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as running:
        browser: Browser = running.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


def listen(page: Page) -> Heard:
    """Everything that a page does wrong from now on."""
    heard = Heard()
    page.on("request", lambda request: heard.requests.append(request.url))
    page.on("console", lambda message: heard.complaints.append(message.text))
    page.on("pageerror", lambda error: heard.complaints.append(str(error)))
    return heard
