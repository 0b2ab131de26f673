"""Where no schedule is named the model takes the one that is predicted to be fastest, and says what others take."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_model import load_machine, lower
from gpu_model.asked import Ask
from gpu_model.laid_out import lay_out
from gpu_model.machine import Machine
from gpu_model.policy import kernels, policy_named
from gpu_model.schedule import schedule_named
from patterns.graph import Graph
from patterns.library import workload
from patterns.pipeline.simulate import simulate
from patterns.plan import Call

H100 = load_machine("h100_sxm")
LECTURE = load_machine("lecture_sm")
NAMED = ("multistage", "warp_specialized", "cooperative", "pingpong")


def gemm(m: int, n: int, k: int) -> Graph:
    return workload("gemm", overrides={"m": str(m), "n": str(n), "k": str(k)})


def call_of(graph: Graph, machine: Machine, schedule: str = "auto", **options: int) -> Call:
    return lower(graph, machine, schedule=schedule, options=options).calls[0]


def ps(graph: Graph, schedule: str) -> float:
    """All kernels of a product, simulated."""
    calls = lower(graph, H100, schedule=schedule).calls
    return sum(simulate(call.program, spans=False).total_cycles / call.clock_hz for call in calls)


@pytest.mark.parametrize(("m", "n", "k"), [(3, 2786, 8637), (623, 11172, 869), (2196, 5593, 196), (4096, 4096, 4096)])
@pytest.mark.parametrize("schedule", NAMED)
def test_predictions_of_real_products_are_near_the_simulation(schedule: str, m: int, n: int, k: int) -> None:
    graph, ask = gemm(m, n, k), Ask(H100, schedule)
    ((group,), _) = kernels(graph, graph.blocks[0], ask, policy_named("pattern"))
    chosen, how = lay_out(graph, graph.blocks[0], group, ask).chosen, schedule_named(schedule)
    choice = replace(chosen.choice, ctas=1)
    simulated = simulate(how.program(chosen.work, choice, chosen.machine), spans=False).total_cycles
    wave = chosen.work.waves[0]
    # Loads that wait behind another tile's store, on the HBM that limits both, are later than any sum says.
    near = 0.2 if wave.store.unit == wave.load.unit else 0.03
    assert how.predict(chosen.work, choice, chosen.machine) == pytest.approx(simulated, rel=near)


@pytest.mark.parametrize(
    ("m", "n", "k"), [(4096, 4096, 4096), (8192, 8192, 256), (16, 8192, 4096), (300, 1000, 2000), (128, 256, 8192)]
)
def test_none_that_could_be_named_is_much_faster(m: int, n: int, k: int) -> None:
    graph = gemm(m, n, k)
    assert ps(graph, "auto") <= 1.03 * min(ps(graph, schedule) for schedule in NAMED)


def test_a_short_product_with_many_tiles_takes_turns() -> None:
    # The end of a tile is as long as its 4 steps, and runs beside another's main loop; with 64 it hardly matters.
    assert call_of(gemm(8192, 8192, 256), H100).schedule.startswith("pingpong")
    assert call_of(gemm(8192, 8192, 4096), H100).schedule.startswith("cooperative")


def test_what_others_would_take_is_said() -> None:
    call = call_of(gemm(128, 256, 4096), LECTURE)
    said = "predicted to take 68,166 cycles, where warp_specialized 68,294; pingpong does not fit"
    assert call.schedule_reason == said


def test_what_does_not_fit_is_said() -> None:
    call = call_of(gemm(4096, 4096, 4096), H100, tile_m=128, tile_n=256)
    assert "pingpong does not fit" in call.schedule_reason
    assert not call.schedule.startswith("pingpong")


def test_nothing_is_said_of_what_was_asked_for() -> None:
    assert call_of(gemm(128, 256, 4096), LECTURE, "multistage").schedule_reason == ""
    assert all(not call.schedule_reason for call in lower(workload("softmax"), H100).calls)


def test_of_equal_ones_the_one_with_fewest_threads_is_taken() -> None:
    # One tile for each SM, with one block of rows: nobody takes turns, and a second consumer would have nothing.
    call = call_of(gemm(64, 128, 512), H100, tile_m=64, tile_n=128)
    assert call.schedule.startswith(("warp_specialized", "multistage"))


@pytest.mark.parametrize("machine", ["v100", "h100_sxm"])
def test_a_product_that_is_one_tile_is_split_as_the_user_fixed(machine: str) -> None:
    plan = lower(gemm(1, 5, 4096), load_machine(machine), options={"splits": 2, "tile_m": 5, "tile_n": 8, "tile_k": 64})
    assert [call.tiling.splits for call in plan.calls if not call.combines] == [(("k", 2),)]
