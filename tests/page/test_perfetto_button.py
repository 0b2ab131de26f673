"""The report's button that hands its runs to Perfetto, with a page that stands for Perfetto's in its place."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from experiments.page.report import report_page
from experiments.trace import process_name
from tests.page import made
from tests.page.browser import listen, opened_browser

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page, Route

PERFETTO = "https://ui.perfetto.dev"
# It answers as the real one does: not at once, to whoever opened it, and it takes one trace.
STAND_IN = """<!DOCTYPE html><title>stand-in</title><script>
let asked = 0;
window.got = null;
addEventListener("message", (event) => {
  if (event.source !== opener) return;
  if (event.data === "PING") { if (++asked === 3) event.source.postMessage("PONG", "*"); return; }
  const { buffer, title } = event.data.perfetto;
  window.got = { title, bytes: buffer.byteLength, trace: JSON.parse(new TextDecoder().decode(buffer)) };
});
</script>"""

FIRST_PROCESS = "window.got.trace.traceEvents.find((event) => event.name === 'process_name').args.name"


def handed_over(page: Page, what: str = "window.got") -> Any:
    """What the page in Perfetto's place has got."""
    with page.expect_popup() as opened:
        page.locator(".perfetto button").click()
    opened.value.wait_for_function("window.got")
    found = opened.value.evaluate(what)
    opened.value.close()
    return found


def test_the_chosen_runs_are_handed_over_when_the_button_is_clicked_and_not_before(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(report_page(made.comparison()), encoding="utf-8")
    asked: list[str] = []

    def stand_in(route: Route) -> None:
        asked.append(route.request.url)
        route.fulfill(body=STAND_IN, content_type="text/html")

    with opened_browser() as browser:
        page = browser.new_page()
        page.context.route(f"{PERFETTO}/**", stand_in)
        heard = listen(page)
        page.goto(file.as_uri())
        page.wait_for_function("document.documentElement.dataset.ready === 'yes'")
        assert not asked
        page.locator("select.run").first.select_option("0")
        found = handed_over(page)
        assert asked == [f"{PERFETTO}/"]
        told = page.locator(".perfetto output")
        assert told.inner_text() == "handed over; it may ask first whether to open it"
        check_trace(found["trace"]["traceEvents"])
        page.locator("select.run").first.select_option("1")
        assert handed_over(page, FIRST_PROCESS) == process_name(made.comparison().outcomes[1].report)
        page.evaluate("window.open = () => null")
        page.locator(".perfetto button").click()
        assert "opened no tab" in told.inner_text()
        # The page itself has asked for nothing but itself, and nothing was wrong.
        assert heard.requests == [file.as_uri()]
        assert heard.complaints == []
        assert found["title"] == page.title()


def check_trace(events: list[dict[str, Any]]) -> None:
    """Two processes that are the runs, each call as often as it is launched, and no slices that overlap."""
    outcomes = [made.comparison().outcomes[place] for place in (0, 2)]
    names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert list(names.values()) == [process_name(one.report) for one in outcomes]
    threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    for pid, outcome in zip(names, outcomes, strict=True):
        on_device = [e for e in events if e["ph"] != "M" and e["pid"] == pid and threads[pid, e["tid"]] == "device"]
        calls = Counter(event["name"] for event in on_device)
        assert calls == {call.name: call.count for call in outcome.execution.plan.calls}
        # What is inside a call begins with its first launch.
        inside = [e for e in events if e["ph"] != "M" and e["pid"] == pid]
        begins = [e["ts"] for e in inside if threads[pid, e["tid"]] == "inside: first launches"]
        starts = {e["ts"] for e in inside if threads[pid, e["tid"]].startswith("inside: ") and "cycle" in e["args"]}
        assert len(begins) == len(calls)
        assert all(min(abs(begin - start) for start in starts) < 0.01 for begin in begins)
        ends = [e["ts"] + e["dur"] for e in events if e["ph"] == "X" and e["pid"] == pid]
        # Times are microseconds, rounded to a nanosecond.
        assert max(ends) * 1e6 <= outcome.report.time_ps + 2_000
    free: dict[tuple[int, int], int] = {}
    for event in (one for one in events if one["ph"] == "X"):
        lane, start, end = (event["pid"], event["tid"]), *(round(event[k] * 1000) for k in ("ts", "dur"))
        assert free.get(lane, 0) <= start
        free[lane] = start + end
