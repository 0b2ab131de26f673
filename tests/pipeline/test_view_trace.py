"""Traces: valid for the viewers, complete or said to be cut, and in agreement with the run."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import pairwise
from typing import Any

import pytest

from patterns.pipeline.trace import chrome_trace, spans_in_all, trace_text
from patterns.plan import Call, Plan, Tiling
from patterns.report import Execution
from patterns.run import run_plan
from tests.pipeline.view_programs import random_program, warp_specialized
from tests.report_plans import HEAD_CALL, LAYER_CALL, PLAN, with_calls

Event = dict[str, Any]


def by_phase(execution: Execution, phase: str) -> list[Event]:
    return [event for event in chrome_trace(execution)["traceEvents"] if event["ph"] == phase]


def wide_plan() -> Plan:
    """Calls whose units have several lanes, at clocks that do not divide a nanosecond."""
    programs = [random_program(seed) for seed in range(30)]
    calls = [Call(f"c{i}", "b", (), Tiling(), program, 1_830_000_000, 3) for i, program in enumerate(programs)]
    return with_calls(*calls)


EXECUTIONS = {"small": run_plan(PLAN), "wide": run_plan(wide_plan())}


@pytest.fixture(params=sorted(EXECUTIONS))
def execution(request: pytest.FixtureRequest) -> Execution:
    return EXECUTIONS[request.param]


def test_it_is_json_that_a_viewer_opens(execution: Execution) -> None:
    trace = json.loads(trace_text(execution))
    assert trace == chrome_trace(execution)
    assert set(trace) == {"traceEvents", "displayTimeUnit", "otherData"}
    assert trace["otherData"]["time_ps"] == execution.schedule.total_cycles
    for event in trace["traceEvents"]:
        assert event["ph"] in {"X", "i", "M"}
        assert type(event["pid"]) is int
        assert type(event["tid"]) is int
        assert event["name"]


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
    assert named["process_name"] == named["process_sort_index"] == {(pid, 0) for pid, _ in used}


META = ("process_name", "process_sort_index", "thread_name", "thread_sort_index")


def test_the_call_level_is_in_real_time(execution: Execution) -> None:
    slices = [e for e in by_phase(execution, "X") if e["pid"] == 1]
    end_us = max(e["ts"] + e["dur"] for e in slices)
    total_ps = execution.schedule.total_cycles
    assert end_us * 10**6 == pytest.approx(total_ps, abs=1000)
    running = sum(e["dur"] for e in slices if e["cat"] in {"device", "link"})
    launched = sum(call.count for call in execution.plan.calls)
    durations = sum(execution.call_named[call.name].duration_ps * call.count for call in execution.plan.calls)
    assert running * 10**6 == pytest.approx(durations, abs=1000 * launched)


def test_a_call_shows_its_cycles() -> None:
    execution = run_plan(PLAN)
    assert chrome_trace(execution)["otherData"]["cut"] == []
    slices = {e["name"]: e for e in by_phase(execution, "X") if e["pid"] == 2}
    assert sorted(slices) == ["load", "mma", "store"]
    assert (slices["mma"]["ts"], slices["mma"]["dur"]) == (0.18, 0.3)
    assert slices["load"]["args"] == {"role": "warp", "waited_ns": 0, "in_flight_ns": 20}
    names = [e["args"]["name"] for e in by_phase(execution, "M") if e["name"] == "process_name"]
    assert names == ["calls (real time)", "layer (1 ns = 1 cycle)", "head (1 ns = 1 cycle)"]


def test_lanes_of_a_unit_are_threads_in_the_order_of_units() -> None:
    names = [
        e["args"]["name"] for e in by_phase(EXECUTIONS["wide"], "M") if e["name"] == "thread_name" and e["pid"] == 2
    ]
    assert names == sorted(names)
    everywhere = {e["args"]["name"] for e in by_phase(EXECUTIONS["wide"], "M") if e["name"] == "thread_name"}
    assert {"u0", "u0 0", "u0 1"} <= everywhere


def test_calls_with_the_same_timeline_share_a_process() -> None:
    twin = LAYER_CALL.__class__("twin", "layers", (), Tiling(), LAYER_CALL.program, 10**12)
    execution = run_plan(with_calls(LAYER_CALL, twin, HEAD_CALL))
    names = [e["args"]["name"] for e in by_phase(execution, "M") if e["name"] == "process_name"]
    assert names[1:] == ["layer, twin (1 ns = 1 cycle)", "head (1 ns = 1 cycle)"]


def test_what_does_not_fit_is_cut_and_said() -> None:
    execution = run_plan(with_calls(Call("gemm", "b", (), Tiling(), warp_specialized(), 10**9)))
    trace = chrome_trace(execution, call_events=100)
    spans = 64 * 3 + 2
    assert spans_in_all(execution.calls[0].timeline) == spans
    assert trace["otherData"]["cut"] == [f"gemm (1 ns = 1 cycle): the first 100 of {spans} spans"]
    assert sum(e["pid"] == 2 and e["ph"] != "M" for e in trace["traceEvents"]) == 100
