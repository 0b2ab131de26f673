"""The report in a browser: what a reader sees and does. One browser and two pages for all tests of this file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from experiments.page.report import report_page
from experiments.page.runs import timelines_of
from experiments.page.spans import packed
from experiments.text.quantity import time_text
from patterns.errors import Deadlock
from patterns.pipeline.simulate import simulate
from patterns.pipeline.timeline import real_spans
from tests.page import made
from tests.page.browser import Heard, listen, opened_browser
from tests.pipeline.random_programs import random_program

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Locator, Page

READY = "document.documentElement.dataset.ready === 'yes'"
# Every span that a page unrolls, lane by lane, as texts and cycles.
UNROLLED = """([data, words]) => {
  const timeline = new Timeline(data, words), found = [];
  timeline.walk({ span: (i, shift) => found.push([timeline.role(i), timeline.label(i), timeline.unit(i)[0],
      timeline.start[i] + shift, timeline.end[i] + shift, timeline.laneOf[i]]),
    repeat: () => found.push("folded"), pass: () => {}, hidden: () => found.push("hidden") }, 0, data.total, Infinity);
  return found;
}"""
COLORS = """(canvas) => {
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, canvas.width, canvas.height), found = new Set();
  for (let i = 0; i < data.length; i += 4) found.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
  return found.size;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened_browser() as found:
        yield found


@pytest.fixture(scope="module")
def opened(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> tuple[Page, Heard, Path]:
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(report_page(made.comparison()), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1200, "height": 900}, color_scheme="light")
    heard = listen(page)
    page.goto(file.as_uri())
    page.wait_for_function(READY)
    return page, heard, file


@pytest.fixture
def page(opened: tuple[Page, Heard, Path]) -> Iterator[Page]:
    page, heard, file = opened
    show(page, "calls", "0", "2")
    page.locator("input[type=search]").fill("")
    page.locator(".panel").first.scroll_into_view_if_needed()
    yield page
    assert heard.requests == [file.as_uri()]
    assert heard.complaints == []


def show(page: Page, level: str, gpu: str, rdu: str) -> None:
    """Choose what the panels show, all of it."""
    page.locator(f"input[value={level}]").check()
    for select, run in zip(page.locator("select.run").all(), (gpu, rdu), strict=True):
        select.select_option(run)
    page.mouse.move(0, 0)


def lanes(page: Page, panel: int) -> Locator:
    return page.locator(".lanes").nth(panel)


def standing(page: Page, panel: int) -> dict[str, float]:
    """Where the lanes of a panel are in the window, which is scrolled so that they are."""
    lanes(page, panel).scroll_into_view_if_needed()
    # What a page hears of scrolling, which hides what was told, comes with its next frame.
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    box = lanes(page, panel).bounding_box()
    assert box is not None
    return dict(box)


def seen(page: Page) -> tuple[float, float]:
    """From when to when the panels show, in picoseconds."""
    data = page.locator("#timelines").evaluate("(one) => ({...one.dataset})")
    return float(data["from"]), float(data["to"])


def hover(page: Page, panel: int, share: float, lane: int) -> str:
    """What is told at a share of the width and in a lane of a panel."""
    box = standing(page, panel)
    top, gutter, width = page.evaluate(
        f"[view.panels[{panel}].top, view.panels[{panel}].gutter, view.panels[{panel}].width]"
    )
    page.mouse.move(box["x"] + gutter + (width - gutter) * share, box["y"] + top + 18 * lane + 9)
    tip = page.locator(".tip")
    tip.wait_for()
    return tip.inner_text()


def test_the_page_shows_everything_and_no_name_breaks_out(page: Page) -> None:
    assert page.evaluate("window.hacked") is None
    assert page.locator("script").count() == 2
    headings = page.locator("h2").all_inner_texts()
    assert headings[:4] == [
        "Calls, time and bound",
        "Two time lines on one axis",
        "The graph, and which patterns are one call",
        "Where the time goes",
    ]
    assert made.QUOTES in page.locator("h1").inner_text()
    times = page.locator("#comparison tbody tr").all_inner_texts()
    assert len(times) == len(made.comparison().outcomes)
    assert page.locator(".groups").first.get_by_text(made.HOSTILE).count() == 0  # a call of one node is no group
    box = page.locator(".side").first.locator("g.box[data-node]").first
    box.focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowDown")
    told = page.locator(".tip").inner_text()
    for words in (made.HOSTILE, "because <b>it</b> is so", made.QUOTES):
        assert words in told


def test_both_time_lines_have_one_axis_and_say_what_waits_for_what(page: Page) -> None:
    longest = max(outcome.report.time_ps for outcome in (made.comparison().outcomes[0], made.comparison().outcomes[2]))
    assert seen(page) == (0, pytest.approx(1.01 * longest))
    gutters = page.evaluate("view.panels.map((panel) => [panel.gutter, panel.scale])")
    assert gutters[0] == gutters[1]
    show(page, "inside", "0", "2")
    page.locator("select.call").nth(0).select_option(
        label=page.locator("select.call").nth(0).locator("option").all_inner_texts()[0]
    )
    lanes(page, 0).focus()
    page.keyboard.press(".")
    page.keyboard.press(".")
    told = page.locator("#timelines > [aria-live]").inner_text()
    assert "mma; role warp; unit tc (matrix)" in told
    assert "takes 300 ps (300 cycles)" in told
    assert "waited last for load of warp on mem, which arrived at 180 ps" in told


def test_a_repeated_period_is_one_block_until_it_is_wide_enough(page: Page) -> None:
    show(page, "inside", "0", "2")
    page.locator("select.call").nth(1).select_option("0")
    timeline = made.comparison().outcomes[2].execution.calls[0].timeline
    (window,) = timeline.windows
    folded = hover(page, 1, 0.5, 0)
    assert f"repeated \u00d7 {window.extra + 1:,}" in folded
    assert "busy 100.0 % of the time" in folded.replace("\n", " ")
    box = standing(page, 1)
    page.mouse.move(box["x"] + 600, box["y"] + 60)
    before = seen(page)
    for _ in range(6):
        page.mouse.wheel(0, -3000)
    page.wait_for_function("view.view.to - view.view.from < 3e7")
    after = seen(page)
    assert before[0] < after[0] < after[1] < before[1]
    assert hover(page, 1, 0.5, 0).startswith("mma")


def test_a_call_is_looked_into_by_a_double_click(page: Page) -> None:
    hover(page, 1, 0.5, 0)
    box = standing(page, 1)
    page.mouse.dblclick(box["x"] + 600, box["y"] + page.evaluate("view.panels[1].top") + 9)
    assert page.locator("input[value=inside]").is_checked()
    assert "in one launch" in page.locator(".summary").nth(1).inner_text()


def test_keys_and_drags_move_both_panels(page: Page) -> None:
    lanes(page, 0).focus()
    whole = seen(page)
    page.keyboard.press("w")
    page.keyboard.press("w")
    near = seen(page)
    assert near[1] - near[0] == pytest.approx((whole[1] - whole[0]) / 1.5**2)
    page.keyboard.press("d")
    assert seen(page)[0] > near[0]
    page.keyboard.press("a")
    assert seen(page) == pytest.approx(near)
    box = standing(page, 1)
    page.mouse.move(box["x"] + 600, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 500, box["y"] + 50)
    page.mouse.up()
    scale = page.evaluate("view.panels[1].scale")
    assert seen(page)[0] == pytest.approx(near[0] + 100 / scale)
    page.keyboard.press("0")
    assert seen(page) == whole


def test_times_are_written_as_everywhere(page: Page) -> None:
    times = [1, 999, 1_000, 9_999, 45_165_027, 999_949_999, 1_000_000_000, 9_999_500_000, 7_684_123_456_789]
    assert page.evaluate("(times) => times.map(timeText)", times) == [time_text(one) for one in times]


def test_search_marks_and_jumps(page: Page) -> None:
    show(page, "inside", "1", "2")
    field = page.locator("input[type=search]")
    field.fill("tc 5")
    found = page.locator(".search output")
    assert found.inner_text() == f"{sum(n % 9 == 5 for n in range(made.SPANS // 2)):,} found"
    whole = seen(page)
    field.press("Enter")
    field.press("Enter")
    assert found.inner_text().startswith("2 of ")
    near = seen(page)
    assert near[1] - near[0] < (whole[1] - whole[0]) / 100
    assert "tc 5; role tc; unit tc (matrix)" in page.locator("#timelines > [aria-live]").inner_text()
    field.fill("no such thing")
    assert found.inner_text() == "nothing of that name"


def test_twenty_thousand_spans_are_drawn_in_half_a_second(page: Page) -> None:
    show(page, "inside", "1", "2")
    shown = page.evaluate("view.panels[0].track.timeline.start.length")
    assert shown >= made.SPANS
    for part in (1, 4):
        page.evaluate(f"view.look(0, view.total / {part})")
        milliseconds = float(page.locator("#timelines").get_attribute("data-milliseconds") or "nan")
        assert milliseconds < 500
    assert int(page.locator("#timelines").get_attribute("data-drawn") or 0) > 1000


def test_dark_light_phone_and_table(page: Page) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    assert page.locator(".lanes canvas").first.evaluate(COLORS) > 8
    page.locator("button.theme").click()
    assert page.evaluate(ground) != light
    assert page.locator(".lanes canvas").first.evaluate(COLORS) > 8
    assert page.locator("button.theme").get_attribute("aria-pressed") == "true"
    page.locator("button.theme").click()
    assert page.evaluate(ground) == light
    page.locator("#span-tables > summary").click()
    page.locator("#span-tables table").first.wait_for()
    rows = page.locator("#span-tables table").first.locator("tbody tr").all_inner_texts()
    assert rows[0].split("\t")[:3] == [made.HOSTILE, "device", "device"]
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.emulate_media(media="print")
    fits = "(canvas) => canvas.getBoundingClientRect().width <= canvas.parentElement.getBoundingClientRect().width"
    assert page.locator(".lanes canvas").first.evaluate(fits)
    assert not page.locator("button.theme").is_visible()
    page.emulate_media(media="screen")
    page.set_viewport_size({"width": 1200, "height": 900})


def test_the_page_unrolls_a_run_as_it_was(page: Page) -> None:
    programs = [random_program(Random(seed)) for seed in range(30)]
    checked = 0
    for program in programs:
        try:
            timeline = simulate(program)
        except Deadlock:
            continue
        words: dict[str, int] = {}
        found = page.evaluate(UNROLLED, json.loads(json.dumps((packed(program, timeline, 10**9, words), list(words)))))
        wanted = [[s.role, s.label or s.unit, s.unit, s.start, s.end] for s in real_spans(timeline)]
        assert [one[:5] for one in found] == wanted
        checked += 1
        free: dict[Any, int] = {}
        for _, _, unit, start, end, lane in found:
            assert free.get((unit, lane), 0) <= start, "spans of a lane overlap"
            free[unit, lane] = end
    assert checked > 15


def test_sums_of_the_page_are_those_of_the_run(page: Page) -> None:
    busy = """(number) => {
      const timeline = view.timeline(number), sums = {};
      for (let i = 0; i < timeline.start.length; i++) {
        const unit = timeline.unit(i)[0];
        sums[unit] = (sums[unit] || 0) + (timeline.end[i] - timeline.start[i]) * timeline.place(i).times;
      }
      return sums;
    }"""
    numbers = {id(timeline): None for _, timeline in timelines_of(made.comparison().outcomes)}
    assert len(numbers) > 4
    for outcome, run in zip(made.comparison().outcomes, page.evaluate("view.data.runs"), strict=True):
        pairs = [(outcome.execution.schedule, run["schedule"])]
        pairs += [
            (one.timeline, call["timeline"]) for one, call in zip(outcome.execution.calls, run["calls"], strict=True)
        ]
        for timeline, number in pairs:
            sums = page.evaluate(busy, number)
            assert sums == {unit: cycles for unit, cycles in timeline.busy if cycles or unit in sums}
