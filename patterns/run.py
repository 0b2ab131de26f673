"""From a Plan to an Execution: every distinct call simulated once, then the launches of all of them."""

from __future__ import annotations

from patterns.pipeline.calls import CallStep, schedule_program
from patterns.pipeline.program import Program
from patterns.pipeline.simulate import simulate
from patterns.pipeline.timeline import Timeline
from patterns.plan import Call, Plan
from patterns.report import CallRun, Execution
from patterns.units import ticks


def run_plan(plan: Plan, *, spans: bool = True) -> Execution:
    """Simulate a plan. Raises Deadlock.

    Calls whose programs differ only in name share one Timeline. Without spans the run is faster and only its times,
    busy cycles, stalls and counters can be read: no account, no waterfall, no trace.
    """
    timelines: dict[Program, Timeline] = {}
    calls = tuple(_run_call(call, timelines, spans) for call in plan.calls)
    steps = [_step(call, run) for call, run in zip(plan.calls, calls, strict=True)]
    schedule = schedule_program(steps, plan.launch)
    return Execution(plan, calls, schedule, simulate(schedule, spans=spans))


def _run_call(call: Call, timelines: dict[Program, Timeline], spans: bool) -> CallRun:
    """One call, simulated unless an equal program was; its time is rounded up once, with its own clock."""
    content = Program("", call.program.units, call.program.channels, call.program.roles, call.program.barriers)
    if content not in timelines:
        timelines[content] = simulate(call.program, spans=spans)
    timeline = timelines[content]
    return CallRun(call.name, timeline, ticks(timeline.total_cycles, call.clock_hz))


def _step(call: Call, run: CallRun) -> CallStep:
    return CallStep(call.name, run.duration_ps, call.block, call.count, call.collective)
