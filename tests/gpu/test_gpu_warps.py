"""Nodes of a kernel given to warps: each once, never under the bound, results unchanged, registers split up."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_model import load_machine, lower
from gpu_model.fit import misfit
from gpu_model.schedule import schedule_named
from gpu_model.warps.assignment import Assignment, assign_tasks, makespan_bound, registers_of
from gpu_model.work import Choice, Task, Use, Wave, Work
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.library import workload
from patterns.numbers.execute import execute
from patterns.pipeline.simulate import simulate
from patterns.pipeline.timeline import real_spans
from patterns.plan import Plan
from patterns.read import parse_graph

H100 = load_machine("h100_sxm")
SINGE, SAME = schedule_named("singe"), schedule_named("same_warps")


def drawn_tasks(rng: random.Random, count: int, ends: bool = False) -> tuple[Task, ...]:
    """A graph of tasks: vector and special work, some with large results, the last ones at a tile's end."""
    tasks = []
    for index in range(count):
        reads = tuple(f"t{n}" for n in range(index) if rng.random() < 0.3)
        at_end = ends and index >= count * 2 // 3
        tasks.append(
            Task(
                name=f"t{index}",
                uses=tuple(Use(u, rng.choice([4, 8, 64, 500]), u, ((u, 1),)) for u in ("vector", "special")),
                reads=reads,
                result_bytes=rng.choice([4, 4096, 65536]),
                values=(*reads, f"t{index}"),
                constants=((f"c{rng.randrange(count)}", rng.choice([0, 8, 30])),),
                loads=not reads,
                stores=index == count - 1,
                ends=at_end,
            )
        )
    return tuple(tasks)


def work_of(tasks: tuple[Task, ...], tiles: int = 3, steps: int = 2) -> Work:
    wave = Wave(tiles, Use("load", 100, "load"), Use("store", 80, "store"))
    return Work("drawn", (wave,), steps, 16_384, (), (), 700, tasks=tasks)


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 12), warps=st.sampled_from([1, 2, 3, 4, 8]))
def test_every_task_is_assigned_once_and_no_sooner_over_than_can_be(seed: int, count: int, warps: int) -> None:
    tasks = drawn_tasks(random.Random(seed), count)
    assigned = assign_tasks(tasks, warps, H100, steps=10)
    assert sorted(task.name for task in assigned.tasks) == sorted(task.name for task in tasks)
    assert sum(len(assigned.of(warp)) for warp in range(assigned.warps)) == len(tasks)
    assert assigned.teams * assigned.warps == warps
    seen: set[str] = set()
    for task in assigned.tasks:
        assert seen.issuperset(task.reads)
        seen.add(task.name)
    assert assigned.makespan_cycles >= makespan_bound(assigned.tasks, assigned.warps, H100)
    assert assign_tasks(tasks, warps, H100, steps=10) == assigned


def test_named_barriers_are_scarce_where_shared_memory_has_none() -> None:
    """Constants that take four warps: three teams of four would need 19 named barriers, of which a V100 has 16."""
    tasks = tuple(
        Task(
            name=f"t{n}",
            uses=(Use("vector", 500, "vector"),),
            reads=(f"t{n - 1}",) if n else (),
            result_bytes=4,
            constants=((f"c{n}", 15),),
            loads=not n,
            stores=n == 15,
        )
        for n in range(16)
    )
    volta, hopper = (assign_tasks(tasks, 12, machine, steps=1000) for machine in (load_machine("v100"), H100))
    assert len(hopper.handed_over) * hopper.teams > 7
    assert hopper.named_barriers == 1
    assert volta.named_barriers == 1 + 2 * volta.teams * len(volta.handed_over) <= 16
    assert volta.excess_registers == 0


def best_of_all(tasks: tuple[Task, ...], warps: int) -> int:
    """The least time between steps of any assignment of one team, with registers that fit."""
    placed = (Assignment(tasks, places, warps, H100) for places in product(range(warps), repeat=len(tasks)))
    return min(one.cost(100) for one in placed)[1]


@pytest.mark.parametrize("seed", range(12))
def test_an_assignment_is_near_the_best_there_is(seed: int) -> None:
    tasks = drawn_tasks(random.Random(seed), 6)
    found = assign_tasks(tasks, 3, H100, steps=100).cost(100)[1]
    assert found <= 1.1 * best_of_all(tasks, 3)


def test_a_chain_becomes_a_pipeline() -> None:
    # Four nodes of 500 cycles with results of 4 bytes, where all constants do not fit one warp: one node a warp.
    tasks = tuple(
        Task(
            name=f"t{n}",
            uses=(Use("vector", 500, "vector"),),
            reads=(f"t{n - 1}",) if n else (),
            result_bytes=4,
            constants=((f"c{n}", 200),),
            loads=n == 0,
            stores=n == 3,
        )
        for n in range(4)
    )
    assigned = assign_tasks(tasks, 4, H100, steps=100)
    assert assigned.warps == 4
    assert sorted(assigned.warp_of) == [0, 1, 2, 3]
    # A warp takes and gives a result of one cycle each.
    assert assigned.period_cycles == 502
    assert assigned.makespan_cycles == 4 * 500 + 3 * 2


def test_a_working_set_beyond_the_registers_of_a_thread_fits_when_it_is_assigned() -> None:
    tasks = tuple(
        Task(
            f"t{n}", (Use("vector", 64, "vector"),), result_bytes=4, constants=((f"c{n}", 40),), loads=True, stores=True
        )
        for n in range(8)
    )
    work, choice = work_of(tasks), Choice(2)
    whole = misfit("it", SAME.demand(work, choice, H100), work, choice, H100)
    assert whole is not None
    assert whole.needed == registers_of(tasks, H100) == 32 + 8 * 40
    assert whole.available == 255
    assert misfit("it", SINGE.demand(work, choice, H100), work, choice, H100) is None


def test_where_nothing_is_gained_every_warp_runs_all_nodes() -> None:
    graph = workload("softmax", overrides={"rows": "4096"})
    singe, same = (lower(graph, H100, schedule=name).calls[0].program for name in ("singe", "same_warps"))
    assert simulate(singe).total_cycles == simulate(same).total_cycles


CHAIN = 9


def chemistry(points: int, species: int) -> Graph:
    """Rates of many reactions, as in combustion: each has constants of its own for every species."""
    lines = ["name: chemistry", f"extents: {{points: {points}, species: {species}}}", "tensors:"]
    lines += ["  x: {dims: [points, species], dtype: fp32, role: input}"]
    lines += [f"  c{n}: {{dims: [species], dtype: fp32, role: weight}}" for n in range(CHAIN)]
    lines += ["  y: {dims: [points, species], dtype: fp32, role: output}", "nodes:"]
    for n in range(CHAIN):
        lines.append(f"  r{n}: {{kind: zip, fn: mul, reads: [x, c{n}]}}")
        lines.append(f"  e{n}: {{kind: map, fn: exp, reads: [r{n}]}}")
        if n:
            name, before = ("y" if n == CHAIN - 1 else f"s{n}"), ("e0" if n == 1 else f"s{n - 1}")
            lines.append(f"  {name}: {{kind: zip, fn: add, reads: [{before}, e{n}]}}")
    return parse_graph("\n".join(lines) + "\n", "chemistry.yaml", {})


def test_a_kernel_of_many_constants_gains() -> None:
    """9 x 960 constants are 270 registers of a thread: unassigned, tiles take part of the species, and load again."""
    graph = chemistry(65_536, 960)
    # What is loaded again passes the L2: at its own rate, not at that of tiles which neighbours read too.
    machine = load_machine("h100_sxm", {"l2_bytes_per_cycle": "4472 B/cycle", "load_bytes_per_cycle": "64 B/cycle"})
    same, singe = (
        lower(graph, machine, schedule=name, options={"warpgroups": 2}).calls[0] for name in ("same_warps", "singe")
    )
    assert {loop.dim for loop in same.tiling.loops} == {"points", "species"}
    assert {loop.dim for loop in singe.tiling.loops} == {"points"}
    # With all nodes 32 + 9 x 30 constants + 27 values: x, 9 rates, 9 exponentials, 8 sums.
    assert singe.schedule_reason == "2 teams of 4 warps; a thread needs 134 registers, with all nodes 329"
    cycles = [simulate(call.program).total_cycles for call in (same, singe)]
    assert cycles[1] < 0.8 * cycles[0]


def assert_equal(plan: Plan) -> None:
    arrays = random_arrays(plan.graph, 1)
    expected, got = evaluate(plan.graph, arrays), execute(plan, arrays)
    for name, array in expected.items():
        assert got[name] == pytest.approx(array, rel=1e-9, abs=1e-9), name


@pytest.mark.parametrize("schedule", ["singe", "same_warps"])
def test_the_numbers_stay_whoever_computes_them(schedule: str) -> None:
    graphs = (
        chemistry(70, 33),
        workload("rms_norm", overrides={"rows": "5", "hidden": "700"}),
        workload("softmax", overrides={"rows": "7", "columns": "300"}),
    )
    for graph in graphs:
        assert_equal(lower(graph, H100, schedule=schedule))


def test_the_numbers_stay_in_the_order_in_which_warps_run_the_nodes() -> None:
    plan = lower(chemistry(70, 960), H100, schedule="singe", options={"warpgroups": 2})
    call = plan.calls[0]
    timeline = simulate(call.program)
    spans = sorted(real_spans(timeline, 0, timeline.total_cycles), key=lambda span: span.start)
    order = tuple(dict.fromkeys(span.label for span in spans if span.label in call.nodes))
    assert sorted(order) == sorted(call.nodes)
    assert order != call.nodes
    assert_equal(replace(plan, calls=(replace(call, nodes=order),)))


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 12), groups=st.integers(1, 2), ends=st.booleans())
def test_programs_of_any_tasks_run_to_their_end(seed: int, count: int, groups: int, ends: bool) -> None:
    tasks = drawn_tasks(random.Random(seed), count, ends)
    work, choice = work_of(tasks), Choice(2, warpgroups=groups)
    machine = replace(H100, barrier_cycles=20)
    for schedule in (SINGE, SAME):
        timeline = simulate(schedule.program(work, choice, machine))
        counted = dict(timeline.counters)
        times = work.tiles * (sum(work.steps for t in tasks if not t.ends) + sum(1 for t in tasks if t.ends))
        assert counted["vector"] == counted["special"] == times


def test_predictions_are_near_the_simulation() -> None:
    for schedule, most in ((SINGE, 0.25), (SAME, 0.15)):
        errors = []
        for seed in range(80):
            rng = random.Random(seed)
            work = work_of(drawn_tasks(rng, rng.randrange(1, 10)), rng.choice([1, 4, 30]), rng.choice([1, 4]))
            choice = Choice(rng.choice([1, 2, 4]), warpgroups=rng.choice([1, 2]))
            simulated = simulate(schedule.program(work, choice, H100)).total_cycles
            errors.append(abs(schedule.predict(work, choice, H100) / simulated - 1))
        errors.sort()
        assert errors[len(errors) // 2] < 0.03
        assert errors[len(errors) * 9 // 10] < most
