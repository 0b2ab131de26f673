"""Time lines as text: the lecture's eight, to the character."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from patterns.pipeline.program import Program
from patterns.pipeline.simulate import simulate
from patterns.pipeline.text import Glyph, first_letter, text_timeline, timeline_line
from patterns.pipeline.timeline import Span, Timeline
from tests.pipeline.view_programs import (
    attention_pingpong,
    multistage,
    persistent,
    pingpong,
    synchronous,
    warp_specialized,
)


def by_role(span: Span) -> str:
    """M for the first consumer, m for the second."""
    return "m" if span.role == "b" else "M"


LECTURE: list[tuple[Callable[[], Program], str, Glyph, int, str]] = [
    (
        synchronous,
        "tc",
        first_letter,
        12_000,
        "·········MMMMMMM·········MMMMMM··········MMMMMM·········MMMMMM··········",
    ),
    (
        synchronous,
        "mem",
        first_letter,
        12_000,
        "·LLLL···········LLLLL···········LLLL···········LLLLL···········LLLL·····",
    ),
    (
        warp_specialized,
        "tc",
        first_letter,
        12_000,
        "·········MMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMM",
    ),
    (
        lambda: multistage(4),
        "tc",
        first_letter,
        12_000,
        "·········MMMMMMMMMMMMM·MMMMMM·MMMMMMMMMMMMMMMMMMM·MMMMMM·MMMMMMMMMMMMMMM",
    ),
    (
        lambda: persistent(8, 8),
        "tc",
        first_letter,
        0,
        "··MMMMMMMM·MMMMMMMMM·MMMMMMMMM·MMMMMMMM··MMMMMMMM··MMMMMMMM·MMMMMMMMM·MMMMMMMMM·",
    ),
    (
        lambda: pingpong(8, 8),
        "tc",
        by_role,
        0,
        "··MMMMMMMMMmmmmmmmmmmMMMMMMMMMMmmmmmmmmmMMMMMMMMMMmmmmmmmmmMMMMMMMMMMmmmmmmmmmm·",
    ),
    (
        attention_pingpong,
        "tc",
        lambda span: span.role.upper(),
        6_000,
        "AAAAAABBBBBB···AAAAAAAAAAAAABBBBBBBBBBBBAAAAAAAAAAAABBBBBBBBBBBBBAAAAAAA",
    ),
    (
        attention_pingpong,
        "sfu",
        lambda span: "x",
        6_000,
        "······xxxxxxxxxxxx··········xxxxxx······xxxxxx······xxxxxx·······xxxxxx·",
    ),
]


@pytest.mark.parametrize(("build", "unit", "glyph", "until_cycle", "drawn"), LECTURE)
def test_the_lectures_time_lines(
    build: Callable[[], Program], unit: str, glyph: Glyph, until_cycle: int, drawn: str
) -> None:
    timeline = simulate(build())
    assert text_timeline(timeline, unit, until_cycle or timeline.total_cycles, len(drawn), glyph) == drawn


@pytest.mark.parametrize(
    ("build", "total_cycles"),
    [
        (synchronous, 167168),
        (lambda: multistage(4), 74384),
        (warp_specialized, 68294),
        (lambda: persistent(8, 8), 77254),
        (lambda: pingpong(8, 8), 68294),
        (attention_pingpong, 33280),
    ],
)
def test_the_programs_above_take_the_lectures_time(build: Callable[[], Program], total_cycles: int) -> None:
    assert simulate(build(), spans=False).total_cycles == total_cycles


def test_a_file_of_time_lines(golden: Callable[[str, str], None]) -> None:
    timeline = simulate(synchronous())
    lines = [timeline_line(unit.upper(), text_timeline(timeline, unit, 12_000)) for unit in ("tc", "mem")]
    golden("view/time_lines_synchronous.txt", "\n".join(lines) + "\n")


def drawn(spans: tuple[Span, ...], until_cycle: int, cells: int) -> str:
    timeline = Timeline(until_cycle, until_cycle, (), spans, (), (), (), 0)
    return text_timeline(timeline, "u", until_cycle, cells)


def test_a_cell_shows_what_runs_at_its_midpoint() -> None:
    spans = (Span("r", "a", "u", 0, 0, 5, 5), Span("r", "b", "u", 5, 15, 16, 16), Span("r", "", "u", 5, 25, 45, 45))
    # Midpoints are 5, 15, 25, 35, 45: a span has its start, and not its end.
    assert drawn(spans, 50, 5) == "·BUU·"


def test_of_two_lanes_the_span_that_started_first_is_shown() -> None:
    spans = (Span("r", "a", "u", 0, 0, 20, 20), Span("r", "b", "u", 0, 10, 40, 40))
    assert drawn(spans, 40, 4) == "AABB"


def test_more_cells_than_cycles() -> None:
    assert drawn((Span("r", "a", "u", 0, 1, 2, 2),), 3, 9) == "···AAA···"


def test_another_unit_is_not_shown() -> None:
    assert drawn((Span("r", "a", "v", 0, 0, 9, 9),), 9, 3) == "···"
