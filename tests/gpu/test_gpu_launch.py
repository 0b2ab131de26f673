"""Launch: the host runs ahead, a graph is launched once, and the device has a gap between any two kernels."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_model import launch_names, load_machine, lower
from gpu_model.launch import launch_cost
from patterns.errors import UnknownName, UserError
from patterns.library import workload
from patterns.pipeline.calls import CallStep, schedule_program
from patterns.pipeline.simulate import simulate
from patterns.report import CallCount, Report
from patterns.run import run_plan
from patterns.summarize import summarize

US = 10**6


def with_costs(host_us: int, gap_us: int = 0, graph_us: int = 0) -> dict[str, str]:
    return {"stream_launch_ps": f"{host_us} us", "launch_gap_ps": f"{gap_us} us", "graph_launch_ps": f"{graph_us} us"}


def total_us(launch: str, costs: dict[str, str], *durations_us: int) -> int:
    cost = launch_cost(launch, load_machine("unit", costs))
    steps = [CallStep(f"kernel {i}", us * US) for i, us in enumerate(durations_us)]
    return simulate(schedule_program(steps, cost)).total_cycles // US


@pytest.mark.parametrize(("kernel_us", "expected"), [(2, 402), (4, 404), (10, 1004)])
def test_a_launch_costs_time_only_where_the_device_waits(kernel_us: int, expected: int) -> None:
    assert total_us("stream", with_costs(4), *[kernel_us] * 100) == expected


def test_a_long_kernel_hides_the_launches_after_it() -> None:
    assert total_us("stream", with_costs(4), 50, *[2] * 20) == 4 + 50 + 20 * 2


def test_a_graph_is_one_launch_and_a_gap_between_kernels() -> None:
    assert total_us("graph", with_costs(4, gap_us=1, graph_us=8), *[2] * 100) == 8 + 200 + 99


def test_dummy_kernels_on_the_h100_take_what_was_measured() -> None:
    # 2.1 to 2.8 us apart in a stream, 1.3 us in a graph: a dummy kernel is ramp and drain, and the gap before it.
    machine = load_machine("h100_sxm")
    dummy_ps = (machine.kernel_ramp_cycles + machine.kernel_drain_cycles) * 10**12 // machine.clock_hz
    for launch, apart_us in (("stream", 2.5), ("graph", 1.3)):
        few, many = (
            simulate(schedule_program([CallStep("dummy", dummy_ps)] * count, launch_cost(launch, machine))).total_cycles
            for count in (10, 110)
        )
        assert (many - few) / 100 / US == pytest.approx(apart_us, abs=0.01)


def test_every_kernel_of_a_graph_is_there() -> None:
    graph, machine = workload("softmax"), load_machine("h100_sxm")
    stream, replayed = (
        run_plan(lower(graph, machine, policy="pattern", launch=launch)) for launch in ("stream", "graph")
    )
    assert [call.duration_ps for call in stream.calls] == [call.duration_ps for call in replayed.calls]
    assert replayed.plan.launch.host_ps == 0
    assert stream.plan.launch.once_ps == 0


def test_unknown_launch() -> None:
    with pytest.raises(
        UnknownName,
        match=r"unknown launch 'graphs' .did you mean 'graph'.*there is: graph, pdl, persistent, serving, stream",
    ):
        lower(workload("softmax"), load_machine("unit"), launch="graphs")


def llama(launch: str, policy: str = "library") -> Report:
    graph, machine = workload("llama-3.1-8b", context=2048), load_machine("h100_sxm")
    return summarize(run_plan(lower(graph, machine, policy=policy, launch=launch)))


def test_every_way_to_launch_saves_what_it_is_for() -> None:
    reports = {launch: llama(launch) for launch in launch_names()}
    assert max(reports["persistent"].time_ps, reports["pdl"].time_ps) < reports["graph"].time_ps
    assert reports["graph"].calls == reports["pdl"].calls == reports["stream"].calls > 300
    # Where kernels start anew for nothing, other tiles may be best.
    moved = [dict(reports[launch].bytes)["hbm"] for launch in launch_names()]
    assert max(moved) < 1.03 * min(moved)


def test_a_persistent_kernel_is_one_call() -> None:
    report = llama("persistent")
    assert (report.calls, report.calls_per_layer) == (1, None)
    assert report.calls_by_block == (CallCount("", 1, 1, 1),)
    waits = dict(report.overlap_ps)["synchronisation"]
    # Besides, SMs that share the search for the best token wait for each other once.
    between, others = divmod(waits, load_machine("h100_sxm").grid_sync_ps)
    assert (between, others < 1_000_000) == (323, True)


def test_a_serving_engine_works_before_every_step() -> None:
    machine = load_machine("h100_sxm")
    waited = llama("serving").time_ps - llama("graph").time_ps
    assert waited == machine.serving_step_ps
    assert llama("serving").launching.exposed_ps == machine.serving_step_ps + machine.graph_launch_ps


def test_a_prologue_hides_behind_the_kernel_before() -> None:
    machine = load_machine("h100_sxm")
    cost = launch_cost("pdl", machine)
    kernels = [CallStep("kernel", 10 * US)] * 50
    total = simulate(schedule_program(kernels, cost)).total_cycles
    assert total == cost.once_ps + cost.prologue_ps + 50 * 10 * US + 49 * cost.device_ps
    # A kernel that runs on its own has as much before it as in a graph.
    alone, graph = (
        simulate(schedule_program([CallStep("kernel", ps)], launch_cost(launch, machine))).total_cycles
        for launch, ps in (("pdl", 10 * US), ("graph", 10 * US + cost.prologue_ps))
    )
    assert alone == graph


def test_prologues_are_hidden_but_for_the_first() -> None:
    machine, graph = load_machine("h100_sxm"), workload("softmax")
    cost = launch_cost("pdl", machine)
    found = summarize(run_plan(lower(graph, machine, policy="pattern", launch="pdl"))).launching
    assert found.launching_ps == cost.once_ps + 3 * cost.prologue_ps
    assert found.exposed_ps == cost.once_ps + cost.prologue_ps


def test_dependent_launch_needs_its_feature() -> None:
    machine = replace(load_machine("h100_sxm"), features=("cp_async", "mma_sync"), name="older")
    with pytest.raises(
        UserError, match="launch pdl needs pdl, which older lacks; graph, persistent, serving, stream work"
    ):
        lower(workload("softmax"), machine, launch="pdl")


def test_the_report_says_who_sets_the_pace() -> None:
    # Two-microsecond kernels outrun a host that needs four for each launch; one that needs one is ahead.
    graph = workload("softmax")
    slow, fast = (
        summarize(run_plan(lower(graph, load_machine("unit", with_costs(us)), policy="pattern"))).launching
        for us in (10**9, 1)
    )
    assert slow.host_bound
    assert slow.exposed_ps > slow.launching_ps * 2 // 3
    assert not fast.host_bound
    assert fast.exposed_ps == fast.launching_ps // 3
