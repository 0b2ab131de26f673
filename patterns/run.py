"""From a Plan to an Execution: every distinct call simulated once, then the launches of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from patterns.errors import Deadlock
from patterns.pipeline.call_times import calls_end
from patterns.pipeline.calls import CallStep, Launch, schedule_program
from patterns.pipeline.duration import of_cycles, totals
from patterns.pipeline.program import Program
from patterns.pipeline.simulate import simulate
from patterns.pipeline.timeline import Timeline
from patterns.plan import Call, Plan
from patterns.report import CallRun, Execution
from patterns.units import ticks


@dataclass(frozen=True)
class Counts:
    """Calls that were run without spans: those that were simulated, and those that one simulated before stood for."""

    simulated: int = 0
    reused: int = 0

    def __sub__(self, before: Counts) -> Counts:
        return Counts(self.simulated - before.simulated, self.reused - before.reused)

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.simulated + other.simulated, self.reused + other.reused)


def run_plan(plan: Plan, *, spans: bool = True) -> Execution:
    """Simulate a plan. Raises Deadlock.

    Calls whose programs differ only in name share one Timeline, those of other plans too. Without spans the run is
    faster and only its times, busy cycles and counters can be read: no account, no waterfall, no trace.
    """
    calls = tuple(_run_call(call, spans) for call in plan.calls)
    steps = [_step(call, run) for call, run in zip(plan.calls, calls, strict=True)]
    schedule = schedule_program(steps, plan.launch)
    return Execution(plan, calls, schedule, simulate(schedule) if spans else _ended(schedule, steps, plan.launch))


def _ended(schedule: Program, steps: Sequence[CallStep], launch: Launch) -> Timeline:
    """The call level without spans."""
    cycles = calls_end(steps, launch)
    return totals(schedule) if cycles is None else of_cycles(schedule, cycles)


def simulated(program: Program, *, spans: bool = True) -> Timeline:
    """The Timeline of a Program, run once for all that differ only in name. Raises Deadlock."""
    try:
        return _with_spans(program.content) if spans else _totals(program.content)
    except Deadlock:
        return simulate(program)  # says which program it is


@lru_cache(maxsize=64)
def _with_spans(content: Program) -> Timeline:
    """Memo of runs with spans, which may have very many of them: those of one comparison."""
    return simulate(content)


@lru_cache(maxsize=4096)
def _totals(content: Program) -> Timeline:
    """Memo of runs without spans: most kernels of a sweep are those of the points before."""
    return totals(content)


def counted() -> Counts:
    """Those of this process until now."""
    kept = _totals.cache_info()
    return Counts(kept.misses, kept.hits)


def _run_call(call: Call, spans: bool) -> CallRun:
    """One call; its time is rounded up once, with its own clock."""
    timeline = simulated(call.program, spans=spans)
    return CallRun(call.name, timeline, ticks(timeline.total_cycles, call.clock_hz))


def _step(call: Call, run: CallRun) -> CallStep:
    return CallStep(call.name, run.duration_ps, call.block, call.count, call.collective)
