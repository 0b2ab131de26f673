"""What a trace shows and what a report says are the same: busy time of every unit, calls, and the end."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from typing import Any

import pytest

from patterns.pipeline.trace import chrome_trace, trace_text
from patterns.plan import Call, Plan, Tiling
from patterns.report import Execution
from patterns.run import run_plan
from patterns.summarize import summarize
from tests.pipeline.view_programs import random_program
from tests.report_plans import HEAD_CALL, LAYER_CALL, with_calls

Event = dict[str, Any]


def inside(execution: Execution) -> dict[str, list[tuple[int, int]]]:
    """Exact cycles of every span by the unit that it holds; units are named apart in these programs."""
    events: list[Event] = json.loads(trace_text([("run", execution)], inside_events=10**6))["traceEvents"]
    named = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    found = defaultdict(list)
    for event in events:
        if "role" in event.get("args", {}):
            begin = event["args"]["cycle"]
            unit = named[event["tid"]].partition(" (")[0]
            found[unit].append((begin, begin + event["args"]["cycles"]))
    return found


def only(program_seed: int) -> Plan:
    call = Call("c", "b", (), Tiling(), random_program(program_seed), 1_830_000_000, 1)
    return with_calls(call)


@pytest.mark.parametrize("seed", range(12))
def test_units_are_busy_in_the_trace_as_long_as_in_the_report(seed: int) -> None:
    execution = run_plan(only(seed))
    busy = {unit: sum(end - begin for begin, end in spans) for unit, spans in inside(execution).items()}
    assert busy == {unit: cycles for unit, cycles in execution.calls[0].timeline.busy if cycles or unit in busy}


def test_calls_and_the_end_are_the_reports() -> None:
    execution = run_plan(with_calls(LAYER_CALL, HEAD_CALL))
    report = summarize(execution)
    trace = chrome_trace(execution)
    events = trace["traceEvents"]
    (lane,) = [e["tid"] for e in events if e["name"] == "thread_name" and e["args"]["name"] == "device: calls"]
    assert sum(e["ph"] != "M" and e["tid"] == lane for e in events) == report.calls
    end_us = max(e["ts"] + e.get("dur", 0) for e in events if e["ph"] != "M")
    assert end_us == pytest.approx(report.time_ps / 1e6, abs=0.003)
    assert trace["otherData"]["time_ps"] == report.time_ps


def test_times_are_microseconds_of_the_calls_clock() -> None:
    """1,830 cycles of 1.83 GHz are a microsecond: neither cycles nor nanoseconds are written as if they were."""
    from patterns.pipeline.program import Program, Role, Unit
    from patterns.pipeline.script import Run

    role = Role("r", (Run("u", 1830, "first"), Run("v", 4575, "second")))
    program = Program("p", (Unit("u", "memory"), Unit("v", "matrix")), (), (role,))
    plan = with_calls(Call("c", "b", (), Tiling(), program, 1_830_000_000, 1))
    execution = run_plan(replace(plan, launch=replace(plan.launch, once_ps=0, host_ps=0, device_ps=0, prologue_ps=0)))
    (event,) = [e for e in chrome_trace(execution)["traceEvents"] if e["name"] == "second"]
    assert (event["ts"], event["dur"]) == (1.0, 2.5)
    assert event["args"]["cycles"] == 4575


def test_pieces_abut_and_end_with_what_they_are_in() -> None:
    """Ends are rounded, not lengths: thirds of 300 ns."""
    from patterns.pipeline.lanes import Slice
    from patterns.pipeline.trace import whole_nanoseconds

    third, whole = 100_000 + 166_667, (100_000, 400_000)
    children = list(whole_nanoseconds([Slice("", "", *ends, {}) for ends in ((whole[0], third), (third, whole[1]))]))
    (parent,) = whole_nanoseconds([Slice("", "", *whole, {})])
    assert children[0][1] == children[1][0]
    assert (children[0][0], children[1][1]) == parent
    assert sum(end - begin for begin, end in children) == parent[1] - parent[0]
