"""Windows run tile by tile: a tile out of the part it reaches over, what feeds it in steps that follow; or refused."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patterns.evaluate import evaluate, random_arrays
from patterns.follow import FIRST, LAST, follows, with_steps
from patterns.graph import Graph
from patterns.library import workload
from patterns.numbers.execute import execute
from patterns.numbers.tiles import PlanError
from patterns.plan import Nest, Plan, Tile, Tiling
from patterns.read import parse_graph
from tests.kinds.plans import call, each_node, plan, tiles


def check(made: Plan) -> None:
    arrays = random_arrays(made.graph, 4)
    found, due = execute(made, arrays), evaluate(made.graph, arrays)
    for name in due:
        np.testing.assert_allclose(found[name], due[name], atol=1e-12)


def pooled(n: int, k: int, stride: int, dilation: int, pad: int, kernel: int = 3, between: int = 0) -> Graph:
    """A convolution along a line, a function, a pad and a pool after it."""
    conv, wide = n - kernel + 1, (n - kernel) * (between + 1) + 1 + 2 * pad
    out = (wide - dilation * (k - 1) - 1) // stride + 1
    return parse_graph(
        f"""name: line
extents: {{b: 2, c: 3, n: {n}, kernel: {kernel}, conv: {conv}, wide: {wide}, out: {out}, k: {k}}}
tensors:
  x: {{dims: [b, n], dtype: fp32, role: input}}
  w: {{dims: [c, kernel], dtype: fp32, role: weight}}
nodes:
  taps: {{kind: buffer, fn: window, reads: [x], along: n, to: conv kernel}}
  made: {{kind: mm, reads: [taps, w], over: [kernel]}}
  shaped: {{kind: map, fn: tanh, reads: [made]}}
  padded: {{kind: buffer, fn: pad, reads: [shaped], along: conv, to: wide, before: {pad}, after: {pad},
    between: {between}, value: lowest}}
  pools: {{kind: buffer, fn: window, reads: [padded], along: wide, to: out k, stride: {stride}, dilation: {dilation}}}
  y: {{kind: reduce, fn: max, reads: [pools], over: [k]}}
""",
        "line.yaml",
    )


WHOLE = "taps made shaped padded pools y"


@settings(max_examples=12, deadline=None)
@given(
    n=st.integers(8, 12),
    k=st.integers(1, 3),
    stride=st.integers(1, 4),
    dilation=st.integers(1, 2),
    pad=st.integers(0, 2),
    between=st.integers(0, 1),
    tile=st.integers(1, 5),
)
def test_what_feeds_windows_runs_in_steps_of_their_loop(
    n: int, k: int, stride: int, dilation: int, pad: int, between: int, tile: int
) -> None:
    """Every element is made once, and is there when it is read, also where windows overlap or skip some."""
    graph = pooled(n, k, stride, dilation, pad, between=between)
    assert [(follow.dim, follow.leader) for follow in follows(graph, graph.blocks[0].nodes)] == [
        ("wide", "out"),
        ("conv", "wide"),
        ("n", "conv"),
    ]
    for loops in (tiles(out=tile), tiles(b=1, out=tile, k=1), tiles(out=tile, kernel=2)):
        check(plan(graph, call(WHOLE, Tiling(loops), block="line")))
    check(each_node(graph, tiles(b=1, conv=tile, wide=tile, out=tile, kernel=1, k=2)))


def test_a_step_makes_what_no_step_before_has_needed() -> None:
    """Windows of 3 with stride 2: the first tile of two needs 5 elements, the next 4 more, the last the rest."""
    graph = pooled(14, 3, 2, 1, 0)
    follow = next(found for found in follows(graph, graph.blocks[0].nodes) if found.leader == "out")
    assert graph.sizes["out"] == 5
    assert [follow.range((at, min(at + 2, 5))) for at in (0, 2, 4)] == [(0, 5), (5, 9), (9, 12)]


def test_loops_inside_nests_follow_too() -> None:
    graph = pooled(11, 2, 2, 1, 0)
    nest = Nest(("taps", "made", "shaped", "padded", "pools", "y"), Tiling(tiles(out=2), nests=(
        Nest(("pools", "y"), Tiling((Tile("c", 2),))),
    )))  # fmt: skip
    check(plan(graph, call(WHOLE, Tiling(tiles(b=1), nests=(nest,)), block="line")))


def test_a_loop_over_what_follows_another_is_refused_inside_it() -> None:
    graph = pooled(11, 2, 2, 1, 0)
    with pytest.raises(PlanError, match="taps is in loops over conv and out: one follows the other"):
        check(plan(graph, call(WHOLE, Tiling(tiles(out=2, conv=2)), block="line")))


def test_a_picture_follows_along_both_sides() -> None:
    graph = workload(
        "conv_bias_pool", overrides=dict.fromkeys(("batch", "channels", "filters"), 2) | {"height": 11, "width": 9}
    )
    for rows, columns in product((1, 2, 3), (1, 2)):
        loops = tiles(filters=1, pooled_rows=rows, pooled_columns=columns, kernel_height=2, channels=1)
        check(plan(graph, call("lines patches conv biased bands pools y", Tiling(loops), block="conv_bias_pool")))


def test_a_dim_that_is_its_own_leader_follows_nothing() -> None:
    """Padded to keep its size, a picture's rows would follow themselves: they are whole in every tile."""
    graph = workload("resnet_block", overrides={"channels": 2, "middle": 3, "height": 5, "width": 4})
    assert follows(graph, graph.blocks[0].nodes) == ()
    names = " ".join(node.name for node in graph.blocks[0].nodes)
    made = plan(graph, call(names, Tiling(tiles(height=2)), block="resnet_block"))
    with pytest.raises(PlanError, match="lines2 reads a tile of wider2 before it is complete"):
        check(made)


def test_windows_that_keep_the_name_of_their_dim_have_it_whole() -> None:
    """Windows of one element: as many as there are elements. In a loop over them they are taken all at once."""
    graph = parse_graph(
        """name: line
extents: {n: 7, k: 1, wide: 9, out: 5, j: 3}
tensors: {x: {dims: [n], dtype: fp32, role: input}}
nodes:
  padded: {kind: buffer, fn: pad, reads: [x], along: n, to: wide, before: 2}
  ones: {kind: buffer, fn: window, reads: [x], along: n, to: n k}
  y: {kind: reduce, fn: max, reads: [ones], over: [k]}
  taps: {kind: buffer, fn: window, reads: [padded], along: wide, to: out j, dilation: 2}
  z: {kind: reduce, fn: sum, reads: [taps], over: [j]}
""",
        "line.yaml",
    )
    assert [follow.dim for follow in follows(graph, graph.blocks[0].nodes)] == ["wide"]
    check(plan(graph, call("padded ones y taps z", Tiling(tiles(n=2, out=2)), block="line")))


def test_steps_between_pads_make_some_or_nothing() -> None:
    """Where pads lie between elements, a step may need none: a step of none makes nothing."""
    graph = pooled(12, 2, 1, 1, 1, between=1)
    wide = next(follow for follow in follows(graph, graph.blocks[0].nodes) if follow.dim == "conv")
    assert not wide.even
    assert [wide.range((at, at + 1)) for at in range(4)] == [(0, 0), (0, 1), (1, 1), (1, 2)]
    whole = sum(with_steps((wide,), step)["conv"] for step in _steps_of(graph, "wide"))
    assert whole >= graph.sizes["conv"]


def _steps_of(graph: Graph, dim: str) -> list[dict[str, int]]:
    sizes, count = dict(graph.sizes), graph.sizes[dim]
    ends = [{FIRST + dim: 1}, *([{}] * (count - 2)), {LAST + dim: 1}]
    return [{**sizes, dim: 1, **end} for end in ends]
