"""The report on paper: as a browser prints it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from experiments.compare import compare
from experiments.page.report import report_page
from experiments.request import Request
from tests.page.browser import opened_browser

if TYPE_CHECKING:
    from pathlib import Path

READY = "document.documentElement.dataset.ready === 'yes'"
WIDTHS = "[document.querySelector('.lanes').clientWidth, document.querySelector('.lanes canvas').width]"
# What stands on paper, in pages of A4: tables and time lines, the graph of a decoder twice beside each other, accounts.
PAGES = 8


def test_time_lines_are_as_wide_as_a_page_and_no_page_is_left_empty(tmp_path: Path) -> None:
    request = Request("llama-3.1-8b", policies=("operator", "library"), modes=("fused",))
    file = tmp_path / "report.html"
    file.write_text(report_page(compare(request)), encoding="utf-8")
    with opened_browser() as browser:
        page = browser.new_page(viewport={"width": 1200, "height": 900}, color_scheme="dark")
        page.goto(file.as_uri())
        page.wait_for_function(READY)
        screen = page.evaluate(WIDTHS)
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        paper, dots = page.evaluate(WIDTHS)
        assert paper <= 690 < screen[0]
        assert dots == 3 * paper
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.evaluate(WIDTHS) == screen
        pages = len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4")))
        assert pages <= PAGES, pages
