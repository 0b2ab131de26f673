"""The runs of a comparison as data for a page: calls with their reasons, and every distinct timeline once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from experiments.charting.examples import duration_ps
from experiments.page.spans import packed
from experiments.text.error_bands import band_text
from experiments.text.quantity import time_text
from experiments.trace import process_name
from experiments.validation.plan_bands import combined
from patterns.pipeline.calls import DEVICE
from patterns.pipeline.lanes import shares

if TYPE_CHECKING:
    from experiments.compare import Outcome
    from patterns.pipeline.program import Program, Unit, UnitClass
    from patterns.pipeline.timeline import Timeline
    from patterns.plan import Call

# Stepped spans that a page holds: so few that it stays at some hundred KiB and opens at once.
SPANS = 250_000

# What a whole machine does while it runs a call is of no class of units.
CALL = "call"

# A timeline, and the units that its spans are on.
Drawn = tuple["Timeline", tuple["Unit", ...]]


def runs_data(outcomes: Sequence[Outcome], most: int = SPANS) -> dict[str, Any]:
    """runs: one a machine and mode. timelines: what their calls and schedules name by place, each once. words: names
    that timelines refer to by place.

    At most `most` spans are kept in all; short timelines are whole, and the long ones share what is left evenly.
    """
    programs: dict[Drawn, Program] = {}
    for program, timeline in timelines_of(outcomes):
        programs.setdefault((timeline, program.units), program)
    kept = shares([len(timeline.spans) for timeline, _ in programs], most)
    pairs = zip(programs.items(), kept, strict=True)
    places = {drawn: place for place, drawn in enumerate(programs)}
    words: dict[str, int] = {}
    timelines = [packed(as_drawn(program), timeline, share, words) for ((timeline, _), program), share in pairs]
    runs = [run_data(outcome, places) for outcome in outcomes]
    return {"runs": runs, "timelines": timelines, "words": list(words)}


def timelines_of(outcomes: Sequence[Outcome]) -> list[tuple[Program, Timeline]]:
    """Every schedule and every call, with the program that ran."""
    pairs: list[tuple[Program, Timeline]] = []
    for execution in (outcome.execution for outcome in outcomes):
        pairs.append((execution.schedule_program, execution.schedule))
        pairs += [(call.program, execution.call_named[call.name].timeline) for call in execution.plan.calls]
    return pairs


def as_drawn(program: Program) -> Program:
    """A program whose unit of calls has a class of its own: at the call level it stands for a whole machine."""
    units = tuple(
        replace(unit, unit_class=cast("UnitClass", CALL)) if unit.name == DEVICE else unit for unit in program.units
    )
    return replace(program, units=units)


def run_data(outcome: Outcome, places: Mapping[Drawn, int]) -> dict[str, Any]:
    """One machine in one mode: what it is, how its calls are scheduled, each call, and what was refused."""
    report, execution = outcome.report, outcome.execution
    plan = execution.plan
    longest = max(plan.calls, key=lambda call: duration_ps(outcome, call), default=None)
    return {
        "label": process_name(report),
        "machine": report.machine,
        "family": report.family,
        "mode": report.mode,
        "headline": outcome.headline,
        "time_ps": report.time_ps,
        "time": time_text(report.time_ps),
        "bound_ps": report.bound_ps,
        "band": band_text(combined(outcome.bands)),
        "schedule": places[execution.schedule, execution.schedule_program.units],
        "calls": [call_data(outcome, call, places) for call in plan.calls],
        "longest": plan.calls.index(longest) if longest is not None else None,
        "refused": [{"nodes": refusal.nodes, "reason": refusal.reason} for refusal in plan.refusals],
    }


def call_data(outcome: Outcome, call: Call, places: Mapping[Drawn, int]) -> dict[str, Any]:
    """One distinct call. times: launches in a run; iterations: executions of its block in one of them. What it has not
    is left out.
    """
    run = outcome.execution.call_named[call.name]
    told = {
        "finishes": call.combines,
        "iterations": call.iterations if call.iterations > 1 else None,
        "schedule": call.schedule,
        "reason": call.reason,
        "schedule_reason": call.schedule_reason,
    }
    return {
        "name": call.name,
        "block": call.block,
        "nodes": call.nodes,
        "times": call.count,
        "time_ps": run.duration_ps,
        "timeline": places[run.timeline, call.program.units],
        **{what: value for what, value in told.items() if value},
    }
