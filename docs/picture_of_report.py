"""Make docs/report.png, the top of a report as a browser shows it: python docs/picture_of_report.py [CHROMIUM]."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

WIDTH, HEIGHT = 1100, 780
# How often the wheel is turned, where, and where the pointer is then: parts of the GPU's time line.
TURNS, WHEEL, POINTER = 22, (0.24, 0.25), (0.615, 0.22)


def main(browser: str | None) -> None:
    """Take the picture with the browser at this path, or with the system's chromium."""
    from playwright.sync_api import sync_playwright

    from experiments.api import compare, report

    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        compared = compare("attention", settings={"seq": 4096}, policies=("library",), modes=("looped",))
        path = report(compared).save(Path(folder) / "report.html")
        chromium = playwright.chromium.launch(
            executable_path=browser or shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = chromium.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(path.as_uri())
        page.get_by_label("inside one call").check()
        page.evaluate("document.querySelector('#timelines').scrollIntoView()")
        line = page.locator(".lanes").first
        box = line.bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + WHEEL[0] * box["width"], box["y"] + WHEEL[1] * box["height"])
        for _ in range(TURNS):
            page.mouse.wheel(0, -100)
            page.wait_for_timeout(20)
        page.mouse.move(box["x"] + POINTER[0] * box["width"], box["y"] + POINTER[1] * box["height"])
        page.wait_for_timeout(300)
        page.screenshot(path=Path(__file__).with_name("report.png"))
        chromium.close()


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else None)
