"""Traces: valid for the viewers, complete or said to be cut, and in agreement with the run."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patterns.pipeline.lanes import Slice, spans_in_all
from patterns.pipeline.trace import chrome_trace, trace_text, whole_nanoseconds
from patterns.plan import Call, Plan, Tiling
from patterns.report import Execution
from patterns.run import run_plan
from tests.pipeline.view_programs import random_program, warp_specialized
from tests.report_plans import HEAD_CALL, LAYER_CALL, PLAN, with_calls

Event = dict[str, Any]
META = ("process_name", "process_sort_index", "thread_name", "thread_sort_index")


def by_phase(execution: Execution, phase: str) -> list[Event]:
    return [event for event in chrome_trace(execution)["traceEvents"] if event["ph"] == phase]


def on_lane(trace: dict[str, Any], lane: str) -> list[Event]:
    """Slices and instants of a thread."""
    tids = {e["tid"] for e in trace["traceEvents"] if e["name"] == "thread_name" and e["args"]["name"] == lane}
    return [e for e in trace["traceEvents"] if e["ph"] != "M" and e["tid"] in tids]


def wide_plan() -> Plan:
    """Calls whose units have several lanes, at clocks that do not divide a nanosecond."""
    programs = [random_program(seed) for seed in range(30)]
    calls = [Call(f"c{i}", "b", (), Tiling(), program, 1_830_000_000, 3) for i, program in enumerate(programs)]
    return with_calls(*calls)


EXECUTIONS = {"small": run_plan(PLAN), "wide": run_plan(wide_plan())}
# A cycle of the layer is a nanosecond: its spans are as long in the trace as in cycles.
SLOW = run_plan(with_calls(replace(LAYER_CALL, clock_hz=10**9), HEAD_CALL))


@pytest.fixture(params=sorted(EXECUTIONS))
def execution(request: pytest.FixtureRequest) -> Execution:
    return EXECUTIONS[request.param]


def test_it_is_json_that_a_viewer_opens(execution: Execution) -> None:
    trace = json.loads(trace_text([("run", execution)]))
    one = chrome_trace(execution)
    assert trace == {**one, "otherData": {"run": one["otherData"]}}
    assert trace["otherData"]["run"]["time_ps"] == execution.schedule.total_cycles
    for event in trace["traceEvents"]:
        assert event["ph"] in {"X", "i", "M"}
        assert type(event["pid"]) is int
        assert type(event["tid"]) is int
        assert event["name"]


def test_runs_are_processes_in_their_order() -> None:
    trace = json.loads(trace_text(EXECUTIONS.items()))
    events = trace["traceEvents"]
    assert list(trace["otherData"]) == list(EXECUTIONS)
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    places = {e["pid"]: e["args"]["sort_index"] for e in events if e["name"] == "process_sort_index"}
    assert [names[pid] for pid in sorted(names, key=places.__getitem__)] == list(EXECUTIONS)
    assert {e["pid"] for e in events} == set(names)
    for execution, pid in zip(EXECUTIONS.values(), names, strict=True):
        assert sum(e["pid"] == pid for e in events) == len(chrome_trace(execution)["traceEvents"])


def test_slices_of_a_thread_never_overlap(execution: Execution) -> None:
    threads = defaultdict(list)
    for event in by_phase(execution, "X"):
        start_ns, length_ns = round(event["ts"] * 1000), round(event["dur"] * 1000)
        # On the nanosecond grid, and long enough to be seen.
        assert event["ts"] * 1000 == pytest.approx(start_ns, abs=1e-4)
        assert length_ns >= 1
        threads[event["pid"], event["tid"]].append((start_ns, start_ns + length_ns))
    assert threads
    for slices in threads.values():
        assert all(before[1] <= after[0] for before, after in pairwise(sorted(slices)))


def test_every_process_and_thread_has_a_name_and_a_place(execution: Execution) -> None:
    used = {(e["pid"], e["tid"]) for e in by_phase(execution, "X") + by_phase(execution, "i")}
    named = {what: {(e["pid"], e["tid"]) for e in by_phase(execution, "M") if e["name"] == what} for what in META}
    assert named["thread_name"] == named["thread_sort_index"] == used
    assert named["process_name"] == named["process_sort_index"] == {(pid, 1) for pid, _ in used}
    # Some viewers sort by the place, some by the number; the thread with its process' number would come first.
    places = {e["tid"]: e["args"]["sort_index"] for e in by_phase(execution, "M") if e["name"] == "thread_sort_index"}
    assert sorted(places, key=places.__getitem__) == sorted(places)
    assert all(pid != tid for pid, tid in used)


def test_the_call_level_is_in_real_time(execution: Execution) -> None:
    trace = chrome_trace(execution)
    end_us = max(e["ts"] + e.get("dur", 0) for e in trace["traceEvents"] if e["ph"] != "M")
    assert end_us * 10**6 == pytest.approx(execution.schedule.total_cycles, abs=3000)
    calls = on_lane(trace, "device: calls")
    launched = sum(call.count for call in execution.plan.calls)
    assert len(calls) == launched
    durations = sum(execution.call_named[call.name].duration_ps * call.count for call in execution.plan.calls)
    assert sum(e.get("dur", 0) for e in calls) * 10**6 == pytest.approx(durations, abs=3000 * launched)


def test_a_call_shows_its_cycles_where_it_is_launched_first() -> None:
    trace = chrome_trace(SLOW)
    assert trace["otherData"]["cut"] == []
    first, *others = (e for e in on_lane(trace, "device: calls") if e["name"] == "layer")
    assert len(others) == 3
    load, mma, store = (on_lane(trace, lane)[0] for lane in ("mem (memory)", "tc (matrix)", "store (memory)"))
    assert [e["name"] for e in (load, mma, store)] == ["load", "mma", "store"]
    assert (mma["ts"] - first["ts"], mma["dur"]) == (pytest.approx(0.18), pytest.approx(0.3))
    assert load["args"] == {"role": "warp", "cycle": 0, "cycles": 160, "in_flight_cycles": 20}
    assert mma["args"] == {"role": "warp", "cycle": 180, "cycles": 300}


def test_what_happens_in_a_call_lies_within_it(execution: Execution) -> None:
    trace = chrome_trace(execution)
    heads = [e for e in on_lane(trace, "inside: first launches") if "args" in e]
    assert [e["name"] for e in heads] == [call.name for call in execution.plan.calls]
    inside = [e for e in trace["traceEvents"] if "role" in e.get("args", {})]
    assert sum(e["args"]["spans_shown"] for e in heads) == len(inside)
    calls = on_lane(trace, "device: calls")
    late_us = 0.002
    for event in inside:
        end_us = event["ts"] + event.get("dur", 0)
        assert any(call["ts"] <= event["ts"] and end_us <= call["ts"] + call["dur"] + late_us for call in calls)


def test_lanes_of_a_unit_are_threads_next_to_each_other() -> None:
    names = [e["args"]["name"] for e in by_phase(EXECUTIONS["wide"], "M") if e["name"] == "thread_name"]
    units = [name for name in names if name.startswith("u")]
    assert len(units) == len(set(units))
    several = [name for name in units if name.endswith((" 1", " 2"))]
    assert several
    for name in several:
        assert units.index(f"{name[:-1]}2") == units.index(f"{name[:-1]}1") + 1


def test_what_does_not_fit_is_cut_and_said() -> None:
    execution = run_plan(with_calls(Call("gemm", "b", (), Tiling(), warp_specialized(), 10**9)))
    trace = chrome_trace(execution, inside_events=100)
    spans = 64 * 3 + 2
    assert spans_in_all(execution.calls[0].timeline) == spans
    assert trace["otherData"]["cut"] == [f"gemm: the first 100 of {spans} spans"]
    head, hidden = on_lane(trace, "inside: first launches")
    assert (head["name"], hidden["name"]) == ("gemm", f"{spans - 100} spans not shown")
    assert (head["args"]["spans"], head["args"]["spans_shown"]) == (spans, 100)
    starts = [e["ts"] for e in trace["traceEvents"] if "role" in e.get("args", {})]
    assert len(starts) == 100
    # What is shown is complete up to where the rest begins, and the two make up the call.
    assert max(starts) <= head["ts"] + head["dur"] == pytest.approx(hidden["ts"])
    (call,) = on_lane(trace, "device: calls")
    assert hidden["ts"] + hidden["dur"] == pytest.approx(call["ts"] + call["dur"])


def test_a_run_of_too_many_calls_is_cut_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("patterns.pipeline.trace.SCHEDULE_EVENTS", 6)
    trace = chrome_trace(EXECUTIONS["small"])
    happened = spans_in_all(EXECUTIONS["small"].schedule)
    assert trace["otherData"]["cut"] == [f"all calls: the first 6 of {happened} spans"]
    assert on_lane(trace, "blocks")[-1]["name"] == f"{happened - 6} spans not shown"


def test_a_text_that_is_cut_says_so_for_each_run() -> None:
    about = json.loads(trace_text(EXECUTIONS.items(), inside_events=2))["otherData"]
    assert about["small"]["cut"] == ["layer: the first 1 of 3 spans"]
    assert len(about["wide"]["cut"]) == 30


@given(st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 3000)), min_size=1))
def test_whole_nanoseconds_keep_slices_apart_visible_and_in_place(gaps: list[tuple[int, int]]) -> None:
    row, moment = [], 0
    for idle_ps, busy_ps in gaps:
        row.append(Slice("", "", moment + idle_ps, moment + idle_ps + busy_ps, {}))
        moment += idle_ps + busy_ps
    grid = list(whole_nanoseconds(row))
    drawn = [(start, end) for start, end in grid if start < end]
    assert all(before[1] <= after[0] for before, after in pairwise(drawn))
    for piece, (start, end) in zip(row, grid, strict=True):
        assert 0 <= start - piece.start_ps // 1000 <= 2
        assert end - piece.end_ps // 1000 <= 2
        if piece.end_ps - piece.start_ps >= 3000:
            assert start < end


def test_slices_that_are_shorter_than_a_nanosecond_are_drawn_as_one() -> None:
    row = [Slice("", "", 1000 + at, 1000 + at + 500, {}) for at in (0, 500, 1000)]
    assert list(whole_nanoseconds(row)) == [(1, 2), (2, 3), (3, 4)]
    assert list(whole_nanoseconds([Slice("", "", 1500, 1500, {})])) == [(1, 1)]
