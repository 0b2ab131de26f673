"""Make docs/report.png, the top of a report as a browser shows it: python docs/picture_of_report.py [CHROMIUM]."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

WIDTH, HEIGHT = 1280, 1240


def main(browser: str | None) -> None:
    """Take the picture with the browser at this path, or with the system's chromium."""
    from playwright.sync_api import sync_playwright

    from experiments.api import compare, report

    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = report(compare("llama-3.1-8b")).save(Path(folder) / "report.html")
        chromium = playwright.chromium.launch(
            executable_path=browser or shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = chromium.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(path.as_uri())
        page.locator("canvas").first.scroll_into_view_if_needed()
        page.screenshot(path=Path(__file__).with_name("report.png"))
        chromium.close()


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else None)
