"""What a page holds as data: the spans of a run, complete or said to be cut, and texts that stay texts."""

from __future__ import annotations

import json
from base64 import b64decode
from random import Random
from typing import Any
from zlib import decompress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.diagram import diagram_of
from experiments.page.layers import layered
from experiments.page.layout import Drawing, drawing_of
from experiments.page.parts import pieces
from experiments.page.render import data_markup
from experiments.page.runs import runs_data
from experiments.page.spans import folded, packed
from patterns.errors import Deadlock
from patterns.library import workload
from patterns.pipeline.program import Program
from patterns.pipeline.simulate import simulate
from patterns.pipeline.timeline import Span, Timeline
from tests.page import made
from tests.pipeline.random_programs import random_program

EVERYTHING = 10**9


def unfolded(told: list[int]) -> list[int]:
    """The numbers again, one by one."""
    found: list[int] = []
    rest = iter(told)
    for number in rest:
        if number >= 0:
            found.append(number)
            continue
        for _ in range(next(rest)):
            found.append(found[number])
    return found


def unpacked(data: dict[str, Any], words: list[str]) -> list[Span]:
    """The spans again, by what the docstring of packed() says of each number."""
    spans: list[Span] = []
    for number, place in enumerate(unfolded(data["spans"])):
        role, label, unit, cycles, flight, waited, back, late = (*data["kinds"][place], 0, 0, 0, 0)[:8]
        cause = number - back if back else -1
        start = 0 if cause < 0 else spans[cause].usable if late else spans[cause].end
        end = start + cycles
        name, _, _ = data["units"][unit]
        spans.append(Span(words[role], words[label], words[name], start - waited, start, end, end + flight, cause))
    return spans


def simulated(seed: int) -> tuple[Program, Timeline] | None:
    """A random program and its run, None where it is stuck."""
    program = random_program(Random(seed))
    try:
        return program, simulate(program)
    except Deadlock:
        return None


@given(st.integers(0, 10**6))
def test_spans_come_out_as_they_went_in(seed: int) -> None:
    if (found := simulated(seed)) is None:
        return
    program, timeline = found
    words: dict[str, int] = {}
    data = json.loads(json.dumps(packed(program, timeline, EVERYTHING, words)))
    named = [span._replace(label=span.label or span.unit) for span in timeline.spans]
    assert unpacked(data, list(words)) == named
    assert data["shown"] == len(named)
    assert [tuple(window) for window in data["windows"]] == [(w.start, w.end, w.extra) for w in timeline.windows]
    assert (data["total"], data["stepped"]) == (timeline.total_cycles, timeline.stepped_cycles)
    assert data["hidden_from"] is None


def test_what_is_left_out_is_said() -> None:
    program = made.uneven()
    timeline = simulate(program)
    data = packed(program, timeline, 100, {})
    assert data["shown"] == 100
    assert data["hidden_from"] == timeline.spans[100].start
    assert data["in_all"] == made.SPANS


@given(st.lists(st.integers(0, 2), max_size=200), st.integers(1, 40))
def test_what_repeats_is_told_once_and_comes_out_again(numbers: list[int], times: int) -> None:
    told = folded(numbers * times)
    assert unfolded(told) == numbers * times
    assert len(told) <= len(numbers) * times
    assert len(folded([*range(50)] * times)) <= 50 + 2


def test_a_timeline_that_several_runs_have_is_kept_once() -> None:
    comparison = made.comparison()
    data = runs_data(comparison.outcomes)
    first, second, _ = data["runs"]
    assert first["calls"][0]["timeline"] == second["calls"][0]["timeline"]
    assert len(data["timelines"]) == 7  # three schedules, the layer, the head, and the two that are long
    assert sum(one["shown"] for one in runs_data(comparison.outcomes, 1_000)["timelines"]) <= 1_000


def test_no_name_ends_the_data() -> None:
    text = str(data_markup({"name": made.HOSTILE, "words": made.QUOTES}))
    assert "<" not in text
    assert json.loads(decompress(b64decode(text))) == {"name": made.HOSTILE, "words": made.QUOTES}


def test_data_are_packed() -> None:
    data = runs_data(made.comparison().outcomes)
    assert len(data_markup(data)) < 0.3 * len(json.dumps(data, separators=(",", ":")))


def test_a_legend_is_told_from_words() -> None:
    text = "Parts:\n  a b  first of all\n  c    second\nand more"
    assert list(pieces(text)) == [
        ("Parts:", []),
        ("", [("a b", "first of all"), ("c", "second")]),
        ("and more", []),
    ]


@pytest.mark.parametrize("place", [drawing_of, layered])
def test_boxes_of_a_drawing_do_not_overlap_and_stand_in_it(place: Any) -> None:
    drawing: Drawing = place(diagram_of(workload("llama-3.1-8b")))
    boxes = drawing.boxes
    for number, one in enumerate(boxes):
        assert one.width / 2 <= one.x <= drawing.width - one.width / 2 + 0.01
        assert 0 < one.y < drawing.height
        for other in boxes[:number]:
            apart_x = abs(one.x - other.x) >= (one.width + other.width) / 2 - 0.01
            apart_y = abs(one.y - other.y) >= (one.height + other.height) / 2 - 0.01
            assert apart_x or apart_y, (one.box.key, other.box.key)
    assert len(drawing.frames) == 3
    assert len(drawing.routes) > len(boxes)
