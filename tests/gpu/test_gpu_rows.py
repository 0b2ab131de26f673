"""Kernels that stream rows: what long rows and clusters do to the share of the memory's rate."""

from __future__ import annotations

import pytest

from gpu_model import load_machine, lower
from gpu_model.asked import Ask
from gpu_model.call import programs_of
from gpu_model.choice.smallest import row_clusters
from gpu_model.joining.legal import separate
from gpu_model.laid_out import lay_out
from gpu_model.policy import policy_named
from gpu_model.tiles.cuts import Cut, price_cut
from gpu_model.tiles.space import Space
from gpu_model.tiles.spaces import spaces_of
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.library import workload
from patterns.numbers.execute import execute
from patterns.pipeline.simulate import simulate
from patterns.plan import Call, Tile

H100, A100 = load_machine("h100_sxm"), load_machine("a100_sxm")


def softmax(rows: int, columns: int) -> Graph:
    return workload("stable_softmax", overrides={"rows": str(rows), "columns": str(columns)})


def one_space(graph: Graph) -> Space:
    nodes = graph.blocks[0].nodes
    (space,) = spaces_of(graph, nodes, [node.writes for node in nodes][:-1])
    return space


def gbytes_per_s(call: Call, rows: int, columns: int) -> float:
    seconds = simulate(call.program, spans=False).total_cycles / call.clock_hz
    return 2 * rows * columns * 2 / seconds / 1e9


@pytest.mark.parametrize("columns", [4096, 16384, 65536, 262144])
def test_long_rows_take_what_the_memory_gives(columns: int) -> None:
    rows = 2**29 // columns
    plan = lower(softmax(rows, columns), H100)
    assert len(plan.calls) == 1
    achieved = H100.hbm_achieved_bytes_per_s / 1e9
    assert 0.93 * achieved <= gbytes_per_s(plan.calls[0], rows, columns) <= achieved


def test_a_row_is_shared_by_a_cluster_where_it_is_too_long_to_overlap() -> None:
    short = lower(softmax(4096, 4096), H100).calls[0]
    long = lower(softmax(1024, 131072), H100).calls[0]
    units = {unit.name for unit in long.program.units} - {unit.name for unit in short.program.units}
    assert units == {"sync"}  # the CTAs reduce together
    # The executed plan has rows whole: a cluster is one tile.
    assert [tile.dim for tile in long.tiling.loops] == ["rows"]


def test_ctas_of_a_cluster_have_equal_parts_of_a_row() -> None:
    space = one_space(softmax(16, 100_000))
    whole = Cut(space, (Tile("rows", 1),))
    shared = Cut(space, (Tile("rows", 1),), spread=Tile("columns", 12_500))
    assert (shared.cluster, shared.tiles) == (8, 8 * whole.tiles)
    assert whole.step_bytes == 8 * shared.step_bytes
    assert shared.out_bytes * shared.tiles == whole.out_bytes * whole.tiles
    assert shared.loaded_bytes == whole.loaded_bytes == 16 * 100_000 * 2
    assert price_cut(shared, H100).total == price_cut(whole, H100).total


def test_only_machines_with_clusters_share_rows_and_only_long_ones() -> None:
    assert row_clusters((one_space(softmax(16, 100_000)),), H100) == (1, 2, 4, 8, 16)
    assert row_clusters((one_space(softmax(16, 100_000)),), A100) == (1,)
    assert row_clusters((one_space(softmax(16, 1024)),), H100) == (1,)


def test_a_shared_row_gives_the_numbers_of_the_graph() -> None:
    graph = softmax(3, 70_001)
    arrays = random_arrays(graph, 1, 1)
    expected, got = evaluate(graph, arrays, 1), execute(lower(graph, H100), arrays)
    assert all(abs(got[name] - array).max() < 1e-9 for name, array in expected.items())


@pytest.mark.parametrize(("rows", "columns"), [(1, 4096), (512, 4096), (4096, 4096), (32768, 256), (1024, 131072)])
def test_predictions_of_rows_are_near_what_is_simulated(rows: int, columns: int) -> None:
    graph = softmax(rows, columns)
    ask = Ask(H100)
    (group,) = policy_named("library").fuse(separate(graph, graph.blocks[0], ask)).groups()
    laid_out = lay_out(graph, graph.blocks[0], group, ask)
    ((program, _),) = programs_of("rows", laid_out.chosen, laid_out.combine)
    assert laid_out.predicted_cycles == pytest.approx(simulate(program, spans=False).total_cycles, rel=0.02)
