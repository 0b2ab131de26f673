"""Launch: the host runs ahead, a graph is launched once, and the device has a gap between any two kernels."""

from __future__ import annotations

import pytest

from gpu_model import launch_names, load_machine, lower
from gpu_model.launch import launch_cost
from patterns.errors import UnknownName
from patterns.library import workload
from patterns.pipeline.calls import CallStep, schedule_program
from patterns.pipeline.simulate import simulate
from patterns.run import run_plan

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
    # 2.1 us apart in a stream, 1.3 us in a graph: a dummy kernel is ramp and drain, and the gap before it.
    machine = load_machine("h100_sxm")
    dummy_ps = (machine.kernel_ramp_cycles + machine.kernel_drain_cycles) * 10**12 // machine.clock_hz
    for launch, apart_us in (("stream", 2.1), ("graph", 1.3)):
        few, many = (
            simulate(schedule_program([CallStep("dummy", dummy_ps)] * count, launch_cost(launch, machine))).total_cycles
            for count in (10, 110)
        )
        assert (many - few) / 100 / US == pytest.approx(apart_us, abs=0.01)


def test_every_kernel_of_a_graph_is_there() -> None:
    graph, machine = workload("softmax"), load_machine("h100_sxm")
    stream, replayed = (run_plan(lower(graph, machine, policy="pattern", launch=launch)) for launch in launch_names())
    assert [call.duration_ps for call in stream.calls] == [call.duration_ps for call in replayed.calls]
    assert replayed.plan.launch.host_ps == 0
    assert stream.plan.launch.once_ps == 0


def test_unknown_launch() -> None:
    with pytest.raises(UnknownName, match=r"unknown launch 'graphs' .did you mean 'graph'.*there is: graph, stream"):
        lower(workload("softmax"), load_machine("unit"), launch="graphs")
