"""A tile that does not divide a dim: one more, the last one partial; issued and useful work are two counts."""

from __future__ import annotations

from gpu_model import load_machine, lower
from patterns.count import graph_demand
from patterns.library import workload


def test_a_thousand_rows_are_eight_tiles_of_128() -> None:
    graph = workload("gemm", overrides={"m": 1000, "n": 256, "k": 64})
    call = lower(graph, load_machine("h100_sxm", {}), policy="pattern", options={"tile_m": 128, "tile_n": 256}).calls[0]
    assert [(tile.dim, tile.extent) for tile in call.tiling.loops] == [("m", 128)]
    assert (-(-1000 // 128), 1000 - 7 * 128) == (8, 104)
    assert graph_demand(graph).matrix_flops == 2 * 1000 * 256 * 64 == 32_768_000
    assert dict(call.work)["matrix_flops"] == 2 * 8 * 128 * 256 * 64 == 33_554_432
