"""A plan of real extents with small ones: what stays, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import pytest

from gpu_model import load_machine, lower
from patterns.graph import Graph
from patterns.library import workload
from patterns.numbers.reduced import reduced
from patterns.numbers.rescaled import rescaled
from patterns.numbers.tiles import PlanError
from patterns.plan import Plan, Tile, Tiling

GEMM = {"m": "1000", "n": "256", "k": "4096"}


def gemm_plan(options: dict[str, int | str]) -> tuple[Plan, Graph]:
    graph = workload("gemm", overrides=GEMM)
    small = reduced(graph, lambda extents: workload("gemm", overrides=extents))
    return lower(graph, load_machine("h100_sxm"), options=options), small


def test_tiles_stay_parts_and_their_last_is_smaller() -> None:
    plan, small = gemm_plan({"tile_m": 128, "tile_n": 128, "tile_k": 64, "splits": 8})
    made = rescaled(plan, small)
    (full, combine), (less, merged) = plan.calls, made.calls
    assert [tile.dim for tile in less.tiling.loops] == [tile.dim for tile in full.tiling.loops]
    for tile, before in zip(less.tiling.loops, full.tiling.loops, strict=True):
        steps = ceil(small.sizes[tile.dim] / tile.extent)
        assert steps > 1 or before.extent >= plan.graph.sizes[tile.dim]
        length = 3 if tile.dim == "k" else small.sizes[tile.dim]  # 8 of k in parts of 3
        assert steps == 1 or length % tile.extent
    assert less.tiling.splits == (("k", 3),)
    assert full.tiling.splits == (("k", 8),)
    assert merged.combines == less.name
    assert combine.combines == full.name


def test_loops_inside_each_other_stay_of_different_lengths() -> None:
    plan, small = gemm_plan({})
    loops = (Tile("k", 4096), Tile("k", 1024), Tile("k", 64), Tile("m", 1))
    nested = replace(plan, calls=(replace(plan.calls[0], tiling=Tiling(loops)),))
    lengths = [tile.extent for tile in rescaled(nested, small).calls[0].tiling.loops]
    assert small.sizes["k"] == lengths[0] > lengths[1] > lengths[2] > lengths[3] == 1


def test_a_layer_too_few_is_not_hidden_by_small_numbers() -> None:
    graph = workload("llama-3.2-1b")
    small = reduced(graph, lambda extents: workload("llama-3.2-1b", overrides=extents))
    plan = lower(graph, load_machine("h100_sxm"), policy="epilogue")
    made = rescaled(plan, small)
    assert {call.count for call in made.calls if call.block == "decoder"} == {3}
    fewer = tuple(replace(call, count=15) if call.block == "decoder" else call for call in plan.calls)
    with pytest.raises(PlanError, match="block decoder is executed 15 times of 16"):
        rescaled(replace(plan, calls=fewer), small)


def test_another_graph_is_refused() -> None:
    plan, _ = gemm_plan({})
    with pytest.raises(PlanError, match="has not the nodes"):
        rescaled(plan, workload("softmax"))
