"""A time line of 200,000 events is drawn in seconds, and its trace has all of them."""

from __future__ import annotations

import resource
from dataclasses import replace
from time import perf_counter

from experiments.picture import in_style, rendered
from experiments.plot.spans import draw_runs
from patterns.pipeline.trace import chrome_trace
from patterns.plan import Call, Tiling
from patterns.report import CallRun
from patterns.run import run_plan
from tests.charting.test_timelines import long_timeline
from tests.report_plans import LAYER_CALL, with_calls

EVENTS = 200_000


def test_very_many_events_are_drawn_in_seconds_and_little_memory() -> None:
    program, done = long_timeline(EVENTS)
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = perf_counter()
    with in_style():
        picture = draw_runs([("long", program, done, 10**9)])
        assert len(rendered(picture.figure, "long")) == 3
    assert perf_counter() - begin < 30
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 10**6
    assert sum(int(str(row["count"])) for row in picture.rows) == EVENTS


def test_the_trace_has_every_event_if_asked() -> None:
    program, done = long_timeline(EVENTS)
    call = Call("long", "", (), Tiling(), program, 10**9)
    execution = run_plan(with_calls(replace(LAYER_CALL, count=1)))
    plan = replace(execution.plan, calls=(call,))
    long = replace(execution, plan=plan, calls=(CallRun("long", done, done.total_cycles * 1000),))
    trace = chrome_trace(long, inside_events=EVENTS)
    assert trace["otherData"]["cut"] == []
    assert sum("role" in event.get("args", {}) for event in trace["traceEvents"]) == EVENTS
