"""What a trace shows: blocks, calls, gaps, launches and units, each on a lane of its own, in a fixed order."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patterns.pipeline.lanes import (
    BETWEEN,
    BLOCKS,
    CALL_LANES,
    CALLS,
    COLLECTIVES,
    LAUNCHES,
    Slice,
    call_slices,
    first_launches,
    first_spans,
    inside_slices,
    lane_order,
    launches,
    shares,
)
from patterns.pipeline.program import Program, Role, Unit
from patterns.pipeline.script import Run
from patterns.pipeline.timeline import real_spans
from patterns.plan import Plan
from patterns.run import run_plan
from tests.pipeline.view_programs import warp_specialized
from tests.report_plans import HEAD_CALL, LAYER_CALL, PLAN, with_calls

ALL = 10**6


def slices_of(plan: Plan, most: int = ALL) -> list[Slice]:
    """The call level of a plan."""
    execution = run_plan(plan)
    part = first_spans(execution.schedule, most)
    launched = tuple(launches(execution, part.spans))
    return list(call_slices(part, launched, execution.schedule.total_cycles))


def names(slices: list[Slice], lane: str) -> list[str]:
    return [piece.name for piece in slices if piece.lane == lane]


def uses(*units: str) -> Program:
    """A program with these units that uses the last one."""
    return Program("", tuple(Unit(unit, "memory") for unit in units), (), (Role("r", (Run(units[-1], 5, "x"),)),))


def test_the_call_level_has_a_slice_for_everything_that_happens() -> None:
    slices = slices_of(PLAN)
    assert names(slices, CALLS) == ["layer"] * 4 + ["head"]
    assert names(slices, BETWEEN) == ["gap"] * 4
    assert names(slices, LAUNCHES) == ["launch layer"] * 4 + ["launch head"]
    assert {piece.lane for piece in slices} <= set(CALL_LANES)


def test_a_block_reaches_from_its_first_call_to_its_last() -> None:
    second = replace(LAYER_CALL, name="second", count=4)
    slices = slices_of(with_calls(LAYER_CALL, second, HEAD_CALL))
    assert names(slices, BLOCKS) == [f"layers {number} of 4" for number in (1, 2, 3, 4)] + ["head"]
    assert names(slices, CALLS) == ["layer", "second"] * 4 + ["head"]
    calls = [piece for piece in slices if piece.lane == CALLS]
    blocks = [piece for piece in slices if piece.lane == BLOCKS]
    for number, block in enumerate(blocks[:-1]):
        assert (block.start_ps, block.end_ps) == (calls[2 * number].start_ps, calls[2 * number + 1].end_ps)
        assert block.facts == {"calls": 2}


def test_a_block_that_one_call_loops_over_says_so() -> None:
    slices = slices_of(with_calls(replace(LAYER_CALL, count=1, iterations=32), HEAD_CALL))
    assert names(slices, BLOCKS) == ["layers, 32 times in one call", "head"]


def test_calls_of_no_single_block_are_named_instead() -> None:
    assert names(slices_of(with_calls(replace(HEAD_CALL, block=""))), BLOCKS) == ["head"]


def test_collectives_have_a_lane_of_their_own() -> None:
    slices = slices_of(with_calls(LAYER_CALL, replace(HEAD_CALL, name="sum", collective=True)))
    assert names(slices, COLLECTIVES) == ["sum"]
    assert names(slices, CALLS) == ["layer"] * 4


def test_calls_say_which_nodes_they_run() -> None:
    calls = [piece for piece in slices_of(PLAN) if piece.lane == CALLS]
    assert [piece.facts["nodes"] for piece in calls] == ["y"] * 4 + [""]


def test_what_is_cut_of_the_call_level_has_a_slice_of_its_own() -> None:
    whole, cut = slices_of(PLAN), slices_of(PLAN, most=6)
    in_all = sum(piece.lane != BLOCKS for piece in whole)
    assert sum(piece.lane != BLOCKS for piece in cut) == 6
    assert names(cut, BLOCKS)[-1] == f"{in_all - 6} spans not shown"
    assert cut[-1].end_ps == max(piece.end_ps for piece in whole)


def test_the_inside_of_a_call_is_shown_once_and_explained() -> None:
    execution = run_plan(PLAN)
    launched = tuple(launches(execution, execution.schedule.spans))
    first = first_launches(launched)
    assert [launch.call.name for launch in first] == ["layer", "head"]
    assert first[0].span.start == min(launch.span.start for launch in launched)
    head, *spans = inside_slices(first[0], first_spans(first[0].run.timeline, ALL))
    assert (head.start_ps, head.end_ps) == (first[0].span.start, first[0].span.end)
    assert (head.facts["nodes"], head.facts["launches"], head.facts["cycles"]) == ("y", 4, 490)
    assert head.facts["traffic_bytes"] == {"hbm": 160, "l2": 200}
    # A cycle of the layer is a picosecond.
    begin = first[0].span.start
    places = {piece.name: (piece.start_ps - begin, piece.end_ps - begin) for piece in spans}
    assert places == {"load": (0, 160), "mma": (180, 480), "store": (480, 490)}


def test_spans_have_their_exact_cycles() -> None:
    execution = run_plan(with_calls(replace(LAYER_CALL, program=warp_specialized(), clock_hz=1_830_000_000)))
    (launch,) = first_launches(tuple(launches(execution, execution.schedule.spans)))
    timeline = launch.run.timeline
    part, spans = first_spans(timeline, 50), list(real_spans(timeline))
    assert (part.spans, part.hidden, part.hidden_from) == (tuple(spans[:50]), len(spans) - 50, spans[50].start)
    _, _, *pieces = inside_slices(launch, part)
    facts = [(piece.facts["cycle"], piece.facts["cycles"]) for piece in pieces]
    assert facts == [(span.start, span.end - span.start) for span in spans[:50]]
    waited = [piece.facts.get("waited_cycles", 0) for piece in pieces]
    assert waited == [span.start - span.ready for span in spans[:50]]
    assert any(waited)
    assert any("waited_cycles" not in piece.facts for piece in pieces)


@pytest.mark.parametrize(
    ("units", "expected"),
    [
        ([("a", "b"), ("a", "c", "b")], "a c b"),
        ([("hbm", "issue"), ("vector", "load", "issue"), ("tc", "vector", "hbm", "issue")], "tc vector hbm load issue"),
        ([("hbm", "e"), ("hbm", "s"), ("hbm", "load", "y")], "hbm e s load y"),
        ([("a", "b"), ("b", "a")], "a b"),
    ],
)
def test_units_are_in_the_order_of_all_programs(units: list[tuple[str, ...]], expected: str) -> None:
    calls = [replace(LAYER_CALL, name=str(number), program=uses(*of)) for number, of in enumerate(units)]
    order = lane_order(calls)
    assert order[: len(CALL_LANES)] == CALL_LANES
    assert order[len(CALL_LANES) :] == tuple(f"{unit} (memory)" for unit in expected.split())


@given(st.lists(st.integers(0, 100)), st.integers(0, 1000))
def test_shares_are_fair_and_spend_what_there_is(wanted: list[int], most: int) -> None:
    got = shares(wanted, most)
    assert sum(got) == min(most, sum(wanted)) or sum(got) <= most < sum(wanted)
    assert all(part <= want for part, want in zip(got, wanted, strict=True))
    refused = [part for part, want in zip(got, wanted, strict=True) if part < want]
    if refused:
        assert sum(got) == most
        assert min(refused) >= max(got) - 1
