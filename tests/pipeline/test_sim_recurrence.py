"""Linear pipelines against recurrences that share nothing with the simulator, and the laws that every run obeys."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

import pytest
import simpy
from hypothesis import given, settings
from hypothesis import strategies as st

from patterns.errors import Deadlock
from patterns.pipeline.program import Channel, Program, Role, Unit
from patterns.pipeline.script import Acquire, Commit, Fill, Free, Loop, Op, Release, Run, Start, Wait
from patterns.pipeline.simulate import simulate
from patterns.pipeline.uses import flat_ops
from tests.pipeline.random_programs import random_program


@dataclass(frozen=True)
class Stage:
    """cycles by tile; with a latency the work is started and not waited for. slots: of the channel behind it."""

    cycles: tuple[int, ...]
    latency: int | None
    slots: int


def finished(stages: list[Stage]) -> int:
    """When the last tile leaves: max-plus, tile by tile. A stage takes a tile when it is there, its last is done (or
    started), and the slot behind is free."""
    tiles = len(stages[0].cycles)
    full = [[0] * tiles for _ in range(len(stages) + 1)]  # full[i][n]: stage i may take tile n
    freed: list[list[int]] = [[0] * tiles for _ in stages]  # freed[i][n]: the slot before stage i is free again
    last = 0
    asked, unit_free = [0] * len(stages), [0] * len(stages)
    for n in range(tiles):
        for i, stage in enumerate(stages):
            slot_free = freed[i + 1][n - stage.slots] if i + 1 < len(stages) and n >= stage.slots else 0
            ask = max(full[i][n], slot_free, asked[i])
            end = max(ask, unit_free[i]) + stage.cycles[n]
            usable = end + (stage.latency or 0)
            unit_free[i] = end
            asked[i] = end if stage.latency is None else ask
            full[i + 1][n] = freed[i][n] = usable
            last = max(last, usable)
    return last


def pipeline(stages: list[Stage]) -> Program:
    """The same as a Program: a unit and a role for each stage."""
    roles = []
    for i, stage in enumerate(stages):
        first, end = i == 0, i == len(stages) - 1
        ops: list[Op] = []
        for cycles in stage.cycles:
            ops += [] if first else [Wait(f"c{i - 1}")]
            ops += [] if end else [Acquire(f"c{i}")]
            if stage.latency is None:
                ops += [Run(f"u{i}", cycles)]
                ops += [] if end else [Commit(f"c{i}")]
                ops += [] if first else [Release(f"c{i - 1}")]
            else:
                then = (*(() if end else (Fill(f"c{i}"),)), *(() if first else (Free(f"c{i - 1}"),)))
                ops.append(Start(f"u{i}", cycles, stage.latency, then))
        roles.append(Role(f"r{i}", _rolled(ops, len(stage.cycles))))
    units = tuple(Unit(f"u{i}", "vector") for i in range(len(stages)))
    channels = tuple(Channel(f"c{i}", stage.slots) for i, stage in enumerate(stages[:-1]))
    return Program("line", units, channels, tuple(roles))


def _rolled(ops: list[Op], tiles: int) -> tuple[Op, ...]:
    """A loop, if every tile has the same ops."""
    trip = ops[: len(ops) // tiles]
    return (Loop(tiles, tuple(trip)),) if trip * tiles == ops else tuple(ops)


@st.composite
def lines(draw: st.DrawFn, latencies: bool = True) -> list[Stage]:
    """Two to six stages; the cycles of a stage are equal for all tiles, or drawn for each."""
    tiles = draw(st.integers(1, 40))
    stages = []
    for _ in range(draw(st.integers(2, 6))):
        same = st.integers(0, 12).map(lambda cycles: (cycles,) * tiles)
        each = st.lists(st.integers(0, 12), min_size=tiles, max_size=tiles).map(tuple)
        latency = draw(st.none() | st.integers(0, 40)) if latencies else None
        stages.append(Stage(draw(same | each), latency, draw(st.integers(1, 6))))
    return stages


@settings(max_examples=300, deadline=None)
@given(lines())
def test_a_line_takes_what_the_recurrence_says(stages: list[Stage]) -> None:
    assert simulate(pipeline(stages)).total_cycles == finished(stages)


@settings(max_examples=100, deadline=None)
@given(lines(), st.integers(0, 4), st.integers(1, 3))
def test_more_slots_are_never_slower(stages: list[Stage], at: int, more: int) -> None:
    at %= len(stages)
    deeper = [replace(stage, slots=stage.slots + more * (i == at)) for i, stage in enumerate(stages)]
    assert simulate(pipeline(deeper), spans=False).total_cycles <= simulate(pipeline(stages), spans=False).total_cycles


@pytest.mark.parametrize(
    ("load", "compute", "slots", "cycles"), [(4, 6, 1, 80), (4, 6, 2, 52), (4, 6, 3, 52), (6, 4, 2, 52)]
)
def test_eight_tiles_by_hand(load: int, compute: int, slots: int, cycles: int) -> None:
    stages = [Stage((load,) * 8, None, slots), Stage((compute,) * 8, None, 1)]
    assert simulate(pipeline(stages)).total_cycles == cycles


def in_simpy(stages: list[Stage]) -> int:
    """The same line in SimPy: a Resource for each unit, a pair of Containers for each channel."""
    env = simpy.Environment()
    units = [simpy.Resource(env, 1) for _ in stages]
    empty = [simpy.Container(env, stage.slots, stage.slots) for stage in stages]
    full = [simpy.Container(env, stage.slots, 0) for stage in stages]

    def role(i: int) -> simpy.events.ProcessGenerator:
        for cycles in stages[i].cycles:
            if i > 0:
                yield full[i - 1].get(1)
            if i + 1 < len(stages):
                yield empty[i].get(1)
            with units[i].request() as request:
                yield request
                yield env.timeout(cycles)
            if i + 1 < len(stages):
                yield full[i].put(1)
            if i > 0:
                yield empty[i - 1].put(1)

    for i in range(len(stages)):
        env.process(role(i))
    env.run()
    return int(env.now)


@settings(max_examples=60, deadline=None)
@given(lines(latencies=False))
def test_a_line_takes_what_simpy_says(stages: list[Stage]) -> None:
    assert simulate(pipeline(stages)).total_cycles == in_simpy(stages)


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_no_run_beats_its_bounds_and_none_loses_work(rng: Random) -> None:
    program = random_program(rng)
    try:
        timeline = simulate(program)
    except Deadlock:
        return
    for unit in program.units:
        assert timeline.total_cycles * unit.lanes >= timeline.busy_cycles[unit.name]
    flops = 0
    for role in program.roles:
        runs = [(op, times) for op, times in flat_ops(role.script) if isinstance(op, Run)]
        assert timeline.total_cycles >= sum(op.cycles * times for op, times in runs)
        flops += sum(dict(op.counts)["flops"] * times for op, times in runs)
    assert dict(timeline.counters).get("flops", 0) == flops
    assert simulate(program) == timeline
