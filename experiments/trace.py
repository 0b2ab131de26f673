"""All outcomes of a comparison as one trace for ui.perfetto.dev."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from patterns.pipeline.trace import chrome_trace

if TYPE_CHECKING:
    from experiments.compare import Outcome

# Enough of every call to see its period; whole calls would make files that no viewer opens.
CALL_EVENTS = 400


def trace_json(outcomes: Sequence[Outcome]) -> str:
    """Chrome Trace Event JSON: the processes of every outcome, named after its machine and mode."""
    events: list[dict[str, Any]] = []
    about: dict[str, Any] = {}
    for outcome in outcomes:
        name = f"{outcome.report.machine} {outcome.report.mode}"
        trace = chrome_trace(outcome.execution, call_events=CALL_EVENTS)
        above = max((event["pid"] for event in events), default=0)
        events += [renamed(event, name, above) for event in trace["traceEvents"]]
        about[name] = trace["otherData"]
    whole = {"traceEvents": events, "displayTimeUnit": "ns", "otherData": about}
    return json.dumps(whole, allow_nan=False, separators=(",", ":"))


def renamed(event: dict[str, Any], name: str, above: int) -> dict[str, Any]:
    """An event with a process number that no earlier outcome has, its process named after the outcome."""
    event = {**event, "pid": event["pid"] + above}
    if event["name"] == "process_name":
        event["args"] = {"name": f"{name}: {event['args']['name']}"}
    elif event["name"] == "process_sort_index":
        event["args"] = {"sort_index": event["pid"]}
    return event
