"""Time lines: overlapping work in sub-lanes, one axis for both machines, very long ones put together and so called."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from matplotlib.collections import PolyCollection

from experiments.charting.blocks import Block, blocks_of, put_together, sub_lanes
from experiments.charting.pair import pair
from experiments.charting.whole import middle_part, union
from experiments.compare import Comparison, compare
from experiments.picture import Picture, in_style
from experiments.plot import timeline
from experiments.plot.spans import draw_runs
from experiments.request import Request
from patterns.pipeline.lanes import spans_in_all
from patterns.pipeline.overlap import account, stretches
from patterns.pipeline.program import Program, Role, Unit
from patterns.pipeline.script import Run
from patterns.pipeline.simulate import simulate
from patterns.pipeline.timeline import Span, Timeline, real_spans
from patterns.report import Report
from tests.pipeline.view_programs import persistent, random_program, warp_specialized

LANES = 12


@pytest.fixture(scope="module", autouse=True)
def style() -> Iterator[None]:
    with in_style():
        yield


@pytest.fixture(scope="module")
def runs() -> Comparison:
    small = (("rows", "64"), ("columns", "1024"))
    return compare(Request("softmax", policies=("operator",), modes=("looped",), settings=small))


@pytest.fixture(scope="module")
def picture(runs: Comparison) -> Picture:
    with in_style():
        return timeline.draw(runs)


def long_timeline(events: int) -> tuple[Program, Timeline]:
    """Every lane is busy for 8 of 10 cycles, very often."""
    units = tuple(Unit(f"u{lane}", "matrix" if lane % 2 else "memory") for lane in range(LANES))
    roles = tuple(Role(f"r{lane}", (Run(f"u{lane}", 8),)) for lane in range(LANES))
    starts = [(10 * (number // LANES), number % LANES) for number in range(events)]
    spans = tuple(Span(f"r{lane}", "", f"u{lane}", at, at, at + 8, at + 8) for at, lane in starts)
    total = spans[-1].end
    busy = Counter(span.unit for span in spans)
    held = tuple((unit, 8 * count) for unit, count in busy.items())
    return Program("long", units, (), roles), Timeline(total, total, (), spans, held, (), (), events)


def test_intervals_that_overlap_are_in_sub_lanes_and_count_both_ways() -> None:
    blocks = [Block("sm0", "", "matrix", start, end, 1, end - start) for start, end in ((0, 10), (5, 15), (15, 20))]
    assert sub_lanes(blocks) == (("sm0", 0), ("sm0", 1), ("sm0", 0))
    assert sum(block.busy for block in blocks[:2]) == 20
    assert sum(end - start for start, end in union((block.start, block.end) for block in blocks[:2])) == 15


def test_work_of_a_unit_with_two_lanes_is_drawn_apart() -> None:
    roles = (Role("a", (Run("u", 10, "x"),)), Role("b", (Run("u", 10, "y"),)))
    program = Program("two", (Unit("u", "matrix", 2),), (), roles)
    picture = draw_runs([("gpu", program, simulate(program), 10**6)])
    (collection,) = [c for c in picture.figure.axes[0].collections if isinstance(c, PolyCollection)]
    tops: list[Any] = [path.vertices for path in collection.get_paths()]
    assert len(tops) == 2
    assert [float(corners[0][0]) for corners in tops] == [0, 0]
    lanes = {row["lane"] for row in picture.rows}
    assert len(lanes) == 2 or tops[0][0][1] != tops[1][0][1]


def test_stretches_of_a_whole_run_are_its_account() -> None:
    for program in (warp_specialized(), *(random_program(seed) for seed in range(20))):
        done = simulate(program)
        found: Counter[str] = Counter()
        pieces = stretches(program, real_spans(done), 0, done.total_cycles)
        for start, end, part in pieces:
            found[part] += end - start
        assert {part: cycles for part, cycles in account(program, done) if cycles} == dict(found)
        assert all(before[1] == after[0] and before[2] != after[2] for before, after in pairwise(pieces))


def test_both_machines_have_one_axis(picture: Picture) -> None:
    assert picture.narrow is not None
    for figure in (picture.figure, picture.narrow):
        gpu, rdu = figure.axes
        assert gpu.get_xlim() == rdu.get_xlim()
        assert rdu.get_xlabel() == "time, us"


def test_lanes_add_up_to_the_report(picture: Picture, runs: Comparison) -> None:
    for outcome in pair(runs):
        report: Report = outcome.report
        held: dict[tuple[str, str], int] = defaultdict(int)
        parts: Counter[str] = Counter()
        for row in picture.rows:
            if str(row["run"]).startswith(f"{report.machine} {report.mode}"):
                held[str(row["view"]), str(row["lane"])] += int(str(row["busy_ps"]))
                parts[str(row["what"])] += int(str(row["busy_ps"])) if row["lane"] == "all together" else 0
        calls = outcome.execution.plan.calls
        spent = sum(outcome.execution.call_named[call.name].duration_ps * call.count for call in calls)
        assert held["run", "calls"] == held["part", "calls"] == spent
        assert held["part", "all together"] == spent
        inside = {part: amount for part, amount in report.overlap_ps if part.startswith(("overlapped", "exposed"))}
        for part, amount in inside.items():
            assert parts[part] == pytest.approx(amount, abs=2 * len(picture.rows))


def test_the_part_of_a_looped_run_is_one_of_its_executions() -> None:
    settings = (("layers", "4"), ("context", "256"))
    found = compare(Request("llama-3.2-1b", policies=("library",), modes=("looped",), settings=settings))
    for outcome in pair(found):
        part = middle_part(outcome.execution)
        assert part is not None
        assert part.name == "execution 3 of 4 of decoder"
        layers = [one for one in part.launched if one.call.block == "decoder"]
        assert all(one.span.end > part.begin and one.span.start < part.end for one in layers)
        if outcome.report.family == "rdu":
            (call,) = layers
            assert part.end - part.begin == pytest.approx(call.run.duration_ps / 4, abs=2)


def test_very_many_events_are_put_together_which_the_title_says() -> None:
    program, done = long_timeline(30_000)
    picture = draw_runs([("long", program, done, 10**9)])
    assert len(picture.rows) < 30_000 / 2
    titles = [text.get_text() for text in picture.figure.axes[0].texts]
    assert any("aggregated" in title for title in titles)
    assert sum(int(str(row["count"])) for row in picture.rows) == 30_000
    assert sum(int(str(row["busy_cycles"])) for row in picture.rows) == sum(cycles for _, cycles in done.busy)


def test_repeats_in_repeats_are_counted_as_often_as_they_happen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.charting.blocks.MOST_UNROLLED", 0)
    nested = 0
    for program in (persistent(64, 64), *(random_program(seed) for seed in range(60))):
        done = simulate(program)
        nested += any(a is not b and a.start <= b.start and b.end <= a.end for a in done.windows for b in done.windows)
        blocks = blocks_of(program, done)
        assert sum(block.busy for block in blocks) == sum(cycles for _, cycles in done.busy)
        assert max((block.end for block in blocks), default=0) <= done.total_cycles
        assert all(block.end - block.start >= block.busy // max(block.count, 1) for block in blocks)
    assert nested


def test_a_period_that_repeats_is_one_block_with_its_count() -> None:
    program = persistent(512, 64)
    done = simulate(program)
    blocks = blocks_of(program, done)
    busy: Counter[str] = Counter()
    for block in blocks:
        busy[block.lane.rpartition(": ")[2]] += block.busy
    assert len(blocks) < spans_in_all(done) / 100
    assert busy == Counter({unit: cycles for unit, cycles in done.busy if cycles})
    assert sum(block.count for block in blocks) == spans_in_all(done)
    assert max(block.end for block in blocks) <= done.total_cycles


def test_few_blocks_stay_as_they_are() -> None:
    blocks = tuple(Block("l", "", "matrix", at, at + 1, 1, 1) for at in range(10))
    assert put_together(blocks, 10) == blocks
