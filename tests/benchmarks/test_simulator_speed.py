"""How fast Programs run, beside SimPy on the same pipeline in the same process. Prints figures; run apart.

python -m pytest tests/benchmarks/test_simulator_speed.py -s
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from time import perf_counter

import pytest
import simpy

from patterns.pipeline.program import Channel, Program, Role, Unit
from patterns.pipeline.script import Acquire, Commit, Loop, Op, Release, Run, Wait
from patterns.pipeline.simulate import simulate

TILES = 10_000
STAGES = {"ring": ((4, 6), 4), "chain of 8": ((5, 12, 8, 4, 11, 7, 14, 10), 2)}


def pipeline(cycles: tuple[int, ...], slots: int, tiles: int) -> Program:
    """Stages in a line, each with its unit; a channel between neighbours."""
    roles = []
    for i, stage_cycles in enumerate(cycles):
        before, behind = i > 0, i + 1 < len(cycles)
        body: tuple[Op, ...] = (
            *((Wait(f"c{i - 1}"),) if before else ()),
            *((Acquire(f"c{i}"),) if behind else ()),
            Run(f"u{i}", stage_cycles),
            *((Commit(f"c{i}"),) if behind else ()),
            *((Release(f"c{i - 1}"),) if before else ()),
        )
        roles.append(Role(f"r{i}", (Loop(tiles, body),)))
    units = tuple(Unit(f"u{i}", "vector") for i in range(len(cycles)))
    return Program("line", units, tuple(Channel(f"c{i}", slots) for i in range(len(cycles) - 1)), tuple(roles))


def in_simpy(cycles: tuple[int, ...], slots: int, tiles: int) -> int:
    """The same in SimPy: a Resource for each unit, a pair of Containers for each channel."""
    env = simpy.Environment()
    units = [simpy.Resource(env, 1) for _ in cycles]
    empty = [simpy.Container(env, slots, slots) for _ in cycles[1:]]
    full = [simpy.Container(env, slots, 0) for _ in cycles[1:]]

    def role(i: int) -> simpy.events.ProcessGenerator:
        for _ in range(tiles):
            if i > 0:
                yield full[i - 1].get(1)
            if i + 1 < len(cycles):
                yield empty[i].get(1)
            with units[i].request() as request:
                yield request
                yield env.timeout(cycles[i])
            if i + 1 < len(cycles):
                yield full[i].put(1)
            if i > 0:
                yield empty[i - 1].put(1)

    for i in range(len(cycles)):
        env.process(role(i))
    env.run()
    return int(env.now)


def best_s(job: Callable[[], object], tries: int = 3) -> float:
    """Seconds of the fastest of a few tries. What other tests left behind is not looked through for garbage."""
    gc.collect()
    gc.freeze()
    try:
        times = []
        for _ in range(tries):
            began = perf_counter()
            job()
            times.append(perf_counter() - began)
        return min(times)
    finally:
        gc.unfreeze()


@pytest.mark.parametrize("name", STAGES)
def test_steps_beside_simpy(name: str) -> None:
    cycles, slots = STAGES[name]
    program = pipeline(cycles, slots, TILES)
    timeline = simulate(program, jump=False)
    assert timeline.total_cycles == in_simpy(cycles, slots, TILES)
    simpy_s = best_s(partial(in_simpy, cycles, slots, TILES))
    bare_s = best_s(partial(simulate, program, spans=False, jump=False))
    spans_s = best_s(partial(simulate, program, jump=False))
    ops = timeline.steps
    print(
        f"\n{name}: {ops:,} ops; SimPy {ops / simpy_s / 1e6:.2f} M ops/s, "
        f"spans off {ops / bare_s / 1e6:.2f} ({simpy_s / bare_s:.1f}x), "
        f"spans on {ops / spans_s / 1e6:.2f} ({simpy_s / spans_s:.1f}x)"
    )
    assert simpy_s >= 3 * bare_s
    assert simpy_s >= 2 * spans_s


@pytest.mark.parametrize("spans", [False, True])
def test_a_million_trips_of_a_ring(spans: bool) -> None:
    program = pipeline((4, 6), 4, 10**6)
    assert simulate(program).total_cycles == 4 + 6 * 10**6
    took_s = best_s(partial(simulate, program, spans=spans))
    print(f"\n10^6 trips of a 4-slot ring, spans {'on' if spans else 'off'}: {took_s * 1e3:.2f} ms")
    assert took_s < 5e-3


def test_nested_loops() -> None:
    make, use = (Acquire("a"), Run("x", 5), Commit("a")), (Wait("a"), Run("y", 7), Release("a"))
    roles = (Role("p", (Loop(10**6, make),)), Role("c", (Loop(1000, (Loop(1000, use), Run("y", 11))),)))
    program = Program("nested", (Unit("x", "memory"), Unit("y", "matrix")), (Channel("a", 4),), roles)
    took_s = best_s(partial(simulate, program))
    print(f"\n1000 x 1000 trips in nested loops: {took_s * 1e3:.2f} ms")
    assert took_s < 20e-3


def test_what_never_repeats_is_hardly_slower() -> None:
    program = pipeline((4, 6), 20_000, 20_000)
    stepped_s = best_s(partial(simulate, program, spans=False, jump=False))
    looked_s = best_s(partial(simulate, program, spans=False))
    print(f"\nlooking for a period in vain: {looked_s / stepped_s:.2f}x")
    assert looked_s < 1.5 * stepped_s
