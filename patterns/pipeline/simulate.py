"""Runs a Program on integer cycles: deterministic, discrete events.

In each cycle: everything that ends, ends. Then roles advance in listed order, as far as they can without a unit,
until none moves. Then units take requests, earliest first, ties by listed role. Work of 0 cycles that a unit takes
ends in the same cycle, which then begins anew.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush

from patterns.pipeline.causes import Record, make_spans
from patterns.pipeline.check import check
from patterns.pipeline.deadlock import explain
from patterns.pipeline.instructions import HOLDING, Instructions
from patterns.pipeline.jump import Jumper
from patterns.pipeline.program import Program
from patterns.pipeline.state import Event, RunState, UnitState
from patterns.pipeline.steps import compile_role
from patterns.pipeline.timeline import Stall, Timeline
from patterns.pipeline.uses import busy_cycles, counters


def simulate(program: Program, *, spans: bool = True, jump: bool = True) -> Timeline:
    """One run of a Program. Raises errors.Deadlock; ValueError where the Program itself is wrong.

    spans: record them (without, the Timeline has only totals). jump: skip repeated periods; the answer is the same.
    """
    check(program)
    run = Simulation(program, spans, jump)
    stepped = run.run()
    if run.state.alive:
        raise explain(run.state, run.instructions, stepped + run.jumper.skipped, _completes)
    return Timeline(
        total_cycles=stepped + run.jumper.skipped,
        stepped_cycles=stepped,
        windows=tuple(sorted(run.jumper.windows, key=lambda window: (window.start, -window.end))),
        spans=make_spans(program, run.state.works, run.records),
        busy=busy_cycles(program),
        stalls=_stalls(run.state),
        counters=counters(program),
        steps=run.executed,
    )


def _completes(program: Program) -> bool:
    run = Simulation(program, False, True)
    run.run()
    return not run.state.alive


class Simulation:
    """A Program in motion: its state, its steps, and what it records."""

    def __init__(self, program: Program, spans: bool, jump: bool) -> None:
        self.state = RunState(program)
        self.instructions = [compile_role(self.state, role) for role in range(len(program.roles))]
        self.records: list[Record] = []
        self.executed = 0
        self.jumper = Jumper(self.state, self.instructions, self.records, jump)
        self.end = _ender(self.state)
        self.take = _taker(self.state, self.instructions, self.records if spans else None)

    def run(self) -> int:
        """Run until no event is left; the last cycle."""
        state, turns, events, touched = self.state, self.state.turns, self.state.events, self.state.touched
        steps, sorts = [c.steps for c in self.instructions], [c.sorts for c in self.instructions]
        pcs, since, sort, stalled = state.pcs, state.since, state.sort, state.stalled
        ready, later, end, take = turns.now, turns.later, self.end, self.take
        bursts, passes = self.jumper.bursts, state.passes
        executed = now = 0
        while True:
            while ready:
                role = heappop(ready)
                stalled[sort[role]] += now - since[role]
                code, pc = steps[role], pcs[role]
                while (following := code[pc](now)) >= 0:
                    pc = following
                    executed += 1
                if following == HOLDING:
                    executed += 1
                pcs[role], since[role], sort[role] = pc, now, sorts[role][pc]
                if later and not ready:
                    ready.extend(later)
                    heapify(ready)
                    later.clear()
            if touched:
                if len(touched) > 1:
                    touched.sort(key=_listed)
                for unit in touched:
                    take(unit, now)
                touched.clear()
            if not events:
                self.executed = executed
                return now
            if events[0][0] > now:  # the cycle is over
                if passes[bursts.watched] >= bursts.due or executed >= state.alarm:
                    self.jumper.look(now, executed)
                now = events[0][0]
            while events and events[0][0] == now:
                end(heappop(events))


def _listed(unit: UnitState) -> int:
    return unit.index


def _ender(state: RunState) -> Callable[[Event], None]:
    """What ends one thing in flight: work leaves its unit, then after its latency its effects happen."""
    events, touched, pcs, serial = state.events, state.touched, state.pcs, state.serial
    cause, ready = state.turns.cause, state.turns.now

    def end(event: Event) -> None:
        now, _, unit, work, bound, span = event
        if unit is not None:
            unit.free += 1
            unit.ended = span
            if unit.queue and not unit.touched:
                unit.touched = True
                touched.append(unit)
            if work.waited:
                role = work.role
                pcs[role] += 1
                cause[role] = span
                heappush(ready, role)
                return
            if work.latency:
                heappush(events, (now + work.latency, next(serial), None, work, bound, span))
                return
        for apply, tile in zip(work.applied, bound, strict=True):
            apply(tile, span)

    return end


def _taker(
    state: RunState, instructions: list[Instructions], records: list[Record] | None
) -> Callable[[UnitState, int], None]:
    """What lets a unit take requests for as long as it has a free lane."""
    events, serial, since, sort, stalled = state.events, state.serial, state.since, state.sort, state.stalled
    running = [_running_sort(code) for code in instructions]

    def take(unit: UnitState, now: int) -> None:
        unit.touched = False
        queue, span = unit.queue, -1
        while queue and unit.free:
            unit.free -= 1
            ready, role, work, bound, cause = heappop(queue)
            if ready < now:
                cause = unit.ended
            if unit.lines[role]:
                later, later_bound = unit.lines[role].popleft()
                heappush(queue, (now, role, later, later_bound, cause))
            else:
                unit.asked[role] = False
            if records is not None:
                span = len(records)
                records.append((work, ready, now, cause))
            heappush(events, (now + work.cycles, next(serial), unit, work, bound, span))
            if work.waited:
                stalled[sort[role]] += now - since[role]
                since[role], sort[role] = now, running[role]

    return take


def _running_sort(code: Instructions) -> int:
    """The account of a role's time in its own Runs, which is no stall."""
    code.state.sorts.append((code.role, ""))
    code.state.stalled.append(0)
    return len(code.state.sorts) - 1


def _stalls(state: RunState) -> tuple[Stall, ...]:
    names = [role.name for role in state.program.roles]
    found = (
        Stall(names[role], what, cycles)
        for (role, what), cycles in zip(state.sorts, state.stalled, strict=True)
        if cycles and what
    )
    return tuple(sorted(found, key=lambda stall: (stall.role, stall.what)))
