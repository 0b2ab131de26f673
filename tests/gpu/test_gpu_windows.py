"""Windows in kernels: addresses of what comes from outside; inside, a tile whole windows, or the kernel is two."""

from __future__ import annotations

import numpy as np
import pytest

import gpu_model
from gpu_model.tiles.space import Space
from gpu_model.tiles.spaces import spaces_of
from patterns.count import hidden
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.library import workload
from patterns.numbers.execute import execute
from patterns.plan import Plan, Tile
from patterns.read import parse_graph

H100 = gpu_model.load_machine("h100_sxm")


def pooled(size: int, stride: int, rows: int = 31, columns: int = 19, pad: int = 0, channels: int = 40) -> Graph:
    """A convolution, a function and a pool of windows of `size` with a stride."""
    r, q = rows - 2 + 2 * pad, columns - 2 + 2 * pad
    out = [(n - size) // stride + 1 for n in (r, q)]
    return parse_graph(
        f"""name: pooled
extents: {{c: {channels}, o: 24, h: {rows}, w: {columns}, kh: 3, kw: 3, mh: h - 2, mw: w - 2, r: {r}, q: {q},
  size_h: {size}, size_w: {size}, ph: {out[0]}, pw: {out[1]}}}
tensors:
  x: {{dims: [c, h, w], dtype: fp16, role: input}}
  f: {{dims: [o, c, kh, kw], dtype: fp16, role: weight}}
nodes:
  lines: {{kind: buffer, fn: window, reads: [x], along: h, to: mh kh}}
  patches: {{kind: buffer, fn: window, reads: [lines], along: w, to: mw kw}}
  conv: {{kind: mm, reads: [patches, f], over: [kh, kw, c]}}
  shaped: {{kind: map, fn: relu, reads: [conv]}}
  taller: {{kind: buffer, fn: pad, reads: [shaped], along: mh, to: r, before: {pad}, after: {pad}, value: lowest}}
  wider: {{kind: buffer, fn: pad, reads: [taller], along: mw, to: q, before: {pad}, after: {pad}, value: lowest}}
  bands: {{kind: buffer, fn: window, reads: [wider], along: r, to: ph size_h, stride: {stride}}}
  pools: {{kind: buffer, fn: window, reads: [bands], along: q, to: pw size_w, stride: {stride}}}
  y: {{kind: reduce, fn: max, reads: [pools], over: [size_h, size_w]}}
""",
        "pooled.yaml",
    )


def check(plan: Plan) -> None:
    arrays = random_arrays(plan.graph, 3)
    np.testing.assert_allclose(execute(plan, arrays)["y"], evaluate(plan.graph, arrays)["y"], atol=1e-12)


def space_of(graph: Graph, names: str) -> Space:
    nodes = [node for node in graph.blocks[0].nodes if node.name in names.split()]
    (space,) = spaces_of(graph, nodes, hidden(graph, [node.name for node in nodes]))
    return space


def test_a_tile_of_a_product_has_its_windows_elements_and_loads_each_once_from_memory() -> None:
    """A step of 4 channels at 8 x 16 places: 9 taps each in shared memory, 10 x 18 elements from memory."""
    space = space_of(workload("conv_bias_pool"), "lines patches conv")
    assert set(space.free) == {"batch", "filters", "rows", "columns"}
    assert space.stepped == ("kernel_height", "kernel_width", "channels")
    (x,) = (access for access in space.reads if access.tensor == "x")
    tile = space.tile_sizes([Tile("rows", 8), Tile("columns", 16), Tile("channels", 4)])
    assert x.num_bytes(tile) == 4 * 9 * 8 * 16 * 2
    assert x.different_bytes(tile) == 4 * 10 * 18 * 2
    one_tap = {**tile, "kernel_height": 1, "kernel_width": 1}
    assert x.num_bytes(one_tap) == x.different_bytes(one_tap) == 4 * 8 * 16 * 2
    assert x.once_bytes(space.sizes) == 256 * 224 * 224 * 2


def test_a_tile_of_a_pool_loads_each_element_once() -> None:
    space = space_of(pooled(3, 2), "bands pools y")
    (access,) = space.reads
    assert access.num_bytes(space.tile_sizes([Tile("o", 1), Tile("ph", 2), Tile("pw", 3)])) == 5 * 7 * 2


def test_a_tile_of_windows_that_share_nothing_makes_what_they_need() -> None:
    space = space_of(pooled(2, 2), "lines patches conv shaped taller wider bands pools y")
    assert space.is_product
    assert set(space.free) == {"o", "ph", "pw"}
    tile = space.tile_sizes([Tile("ph", 3), Tile("pw", 4)])
    assert (tile["mh"], tile["mw"]) == (6, 8)


def test_a_tile_of_windows_that_share_elements_has_the_whole_map() -> None:
    """Of a map that the kernel makes itself; what comes from memory a tile loads again where windows overlap."""
    space = space_of(pooled(3, 2), "shaped taller wider bands pools y")
    assert space.followed == ()
    assert set(space.free) == {"o"}
    assert set(space_of(pooled(3, 2), "bands pools y").free) == {"o", "ph", "pw"}


@pytest.mark.parametrize(
    ("size", "stride", "rows", "machine"), [(2, 2, 31, "h100_sxm"), (2, 3, 18, "unit"), (3, 3, 20, "h100_sxm")]
)
def test_a_pool_of_windows_apart_ends_the_tiles_of_a_convolution(
    size: int, stride: int, rows: int, machine: str
) -> None:
    graph = pooled(size, stride, rows)
    plan = gpu_model.lower(graph, gpu_model.load_machine(machine), policy="epilogue")
    assert len(plan.calls) == 1
    assert "ph" in {loop.dim for loop in plan.calls[0].tiling.loops}
    check(plan)


@pytest.mark.parametrize(("size", "stride", "pad"), [(3, 2, 1), (2, 1, 0)])
def test_windows_that_share_elements_are_a_kernel_of_their_own(size: int, stride: int, pad: int) -> None:
    """Their tiles would be made of elements that another CTA has."""
    graph = pooled(size, stride, rows=27, columns=17, pad=pad, channels=300)
    plan = gpu_model.lower(graph, H100, policy="epilogue")
    assert [call.nodes[-1] for call in plan.calls] == ["shaped", "y"]
    reasons = [refusal.reason for refusal in plan.refusals if "y" in refusal.nodes]
    assert any("whole" in reason or "would be made again" in reason for reason in reasons)


@pytest.mark.parametrize("policy", ["pattern", "library", "megakernel"])
def test_every_policy_gives_the_numbers_of_overlapping_pools(policy: str) -> None:
    check(gpu_model.lower(pooled(3, 2, pad=1), H100, policy=policy))


@pytest.mark.parametrize("policy", ["operator", "megakernel"])
def test_a_picture_that_keeps_its_size_is_cut_along_both_sides(policy: str) -> None:
    """Columns that are padded and those of the result have one name; a tile of these needs others of those."""
    graph = workload("resnet_block", overrides={"channels": 2, "middle": 3, "height": 3, "width": 150})
    plan = gpu_model.lower(graph, H100, policy=policy)
    assert "'width'" in str(plan.calls[0].tiling)
    check(plan)


def test_taps_of_a_picture_larger_than_the_l2_come_from_memory_about_once() -> None:
    """Of 8 rows of tiles that run together, 10 rows of a picture: not nine times the picture for nine taps."""
    graph = workload("conv_bias_pool", overrides={"channels": 64, "filters": 64, "height": 1080, "width": 1920})
    call = gpu_model.lower(graph, H100, policy="operator").calls[0]
    assert call.nodes[-1] == "conv"
    picture, product = 64 * 1080 * 1920 * 2, 64 * 1078 * 1918 * 2
    assert picture > H100.l2_bytes
    assert picture + product < dict(call.traffic)["hbm"] < 1.3 * picture + product
