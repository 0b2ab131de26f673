"""A report of a whole model is made in seconds, and is some hundred KiB."""

from __future__ import annotations

from time import process_time

from experiments.compare import compare
from experiments.page.report import report_page
from experiments.request import Request


def test_the_report_of_a_llama_is_made_in_seconds_and_is_small() -> None:
    begin_s = process_time()
    page = report_page(compare(Request("llama-3.1-8b")))
    taken_s = process_time() - begin_s
    print(f"report of llama-3.1-8b: {taken_s:.2f} s, {len(page.encode()) / 1024:.0f} KiB")
    assert taken_s < 5
    assert len(page.encode()) < 600 * 1024
