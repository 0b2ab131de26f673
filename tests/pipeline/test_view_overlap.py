"""The account of overlap: hand-made runs, a count cycle by cycle, and runs with and without the jump."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from patterns.pipeline.overlap import PARTS, account
from patterns.pipeline.program import UNIT_CLASSES, Program, Unit
from patterns.pipeline.simulate import simulate
from patterns.pipeline.timeline import Span, Timeline, Window
from tests.pipeline.view_programs import random_program, warp_specialized

UNITS = tuple(Unit(unit_class, unit_class, 8) for unit_class in UNIT_CLASSES)
PROGRAM = Program("hand-made", UNITS, (), ())


def span(unit: str, start: int, end: int, usable: int = 0) -> Span:
    return Span("r", "", unit, start, start, end, max(end, usable))


def made(
    spans: list[Span], total_cycles: int, windows: tuple[Window, ...] = (), stepped: int | None = None
) -> Timeline:
    ordered = tuple(sorted(spans, key=lambda s: s.start))
    return Timeline(total_cycles, total_cycles if stepped is None else stepped, windows, ordered, (), (), (), 0)


def parts(timeline: Timeline) -> dict[str, int]:
    found = account(PROGRAM, timeline)
    assert tuple(name for name, _ in found) == PARTS
    assert sum(cycles for _, cycles in found) == timeline.total_cycles
    return {name: cycles for name, cycles in found if cycles}


def test_exposed_memory_is_memory_without_compute() -> None:
    memory, compute = [(0, 8), (10, 14)], [(4, 12), (14, 20)]
    spans = [span("memory", *one) for one in memory] + [span("matrix", *one) for one in compute]
    # Memory busy 12, compute busy 14, both 6; the whole is 20 = 14 + 12 - 6.
    assert parts(made(spans, 20)) == {"overlapped": 6, "exposed_memory": 6, "exposed_matrix": 8}


def test_busy_time_is_a_union_and_only_what_is_left_is_idle() -> None:
    spans = [span("matrix", 0, 10), span("matrix", 5, 15), span("matrix", 20, 25)]
    assert parts(made(spans, 25)) == {"exposed_matrix": 20, "idle": 5}


def test_vector_and_special_are_one_class() -> None:
    assert parts(made([span("vector", 0, 4), span("special", 2, 6)], 6)) == {"exposed_vector": 6}
    assert parts(made([span("vector", 0, 4), span("network", 2, 6)], 6)) == {
        "overlapped": 2,
        "exposed_vector": 2,
        "exposed_network": 2,
    }


def test_only_latency_is_in_flight_and_the_small_classes_have_their_own_names() -> None:
    spans = [
        span("memory", 0, 2, usable=20),
        span("issue", 4, 6),
        span("sync", 5, 8),
        span("launch", 7, 10),
        span("matrix", 9, 12),
    ]
    assert parts(made(spans, 24)) == {
        "exposed_memory": 2,
        "in_flight": 2 + 8,
        "issue": 2,
        "synchronisation": 2,
        "launch": 1,
        "exposed_matrix": 3,
        "idle": 4,
    }


def test_moments_of_a_window_count_as_often_as_they_happened() -> None:
    # [4, 8) happened 10 times, and in it [6, 7) 3 times each.
    spans = [span("memory", 0, 5), span("matrix", 6, 7), span("memory", 8, 10)]
    windows = (Window(4, 8, 9), Window(6, 7, 2))
    timeline = made(spans, 10 + 9 * (4 + 2) + 2, windows, stepped=10)
    assert parts(timeline) == {"exposed_memory": 4 + 10 + 2, "idle": 10 + 10, "exposed_matrix": 30}


def by_counting(timeline: Timeline) -> dict[str, int]:
    """The definitions of the parts, read aloud for every cycle of a run without windows."""
    found: dict[str, int] = {}
    for cycle in range(timeline.total_cycles):
        busy = {s.unit for s in timeline.spans if s.start <= cycle < s.end}
        work = {"vector" if unit == "special" else unit for unit in busy} - {"issue", "sync", "launch"}
        rest = [
            name
            for unit, name in (("issue", "issue"), ("sync", "synchronisation"), ("launch", "launch"))
            if unit in busy
        ]
        flying = any(s.end <= cycle < s.usable for s in timeline.spans)
        single = f"exposed_{next(iter(work), '')}"
        name = "overlapped" if len(work) > 1 else single if work else [*rest, "in_flight" if flying else "idle"][0]
        found[name] = found.get(name, 0) + 1
    return found


@pytest.mark.parametrize("seed", range(40))
def test_the_account_is_what_counting_gives(seed: int) -> None:
    draw = Random(seed)
    spans = []
    for _ in range(draw.randint(0, 12)):
        start, length, latency = draw.randint(0, 40), draw.randint(0, 9), draw.choice((0, 0, 7))
        spans.append(span(draw.choice(UNITS).name, start, start + length, start + length + latency))
    timeline = made(spans, 60)
    assert parts(timeline) == by_counting(timeline)


@pytest.mark.parametrize("seed", range(80))
def test_the_jump_changes_nothing(seed: int) -> None:
    program = random_program(seed)
    jumped, stepwise = simulate(program), simulate(program, jump=False)
    assert account(program, jumped) == account(program, stepwise)
    assert sum(cycles for _, cycles in account(program, jumped)) == jumped.total_cycles


def test_warp_specialisation_hides_the_loads_but_the_first() -> None:
    found = dict(account(warp_specialized(), simulate(warp_specialized())))
    # The first load and then, for as long as its latency lasts, the next ones; at the end the store.
    assert found["exposed_memory"] == 768 + 700 + 1024
    assert found["issue"] == 10
    assert found["overlapped"] + found["exposed_matrix"] == 65536
    assert found["exposed_vector"] == 256


def test_the_windows_of_a_run_are_in_order() -> None:
    windows = simulate(warp_specialized()).windows
    assert all(before.start <= after.start for before, after in pairwise(windows))
