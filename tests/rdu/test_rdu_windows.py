"""Windows on an RDU: read by addresses, fed a few rows at a time, and the map that is pooled never off the chip."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdu_model
from patterns.count import compulsory
from patterns.evaluate import evaluate, random_arrays
from patterns.follow import Follow, follows, with_steps
from patterns.graph import Graph
from patterns.library import workload
from patterns.numbers.execute import execute
from patterns.plan import Plan
from patterns.read import parse_graph
from patterns.run import run_plan
from patterns.summarize import summarize
from rdu_model.compilation import Choices, compile_graph
from rdu_model.pipe import Load, Pipe, steps_in

SN40L = rdu_model.load_machine("sn40l")
BIAS = 256 * 2


def off_chip(plan: Plan) -> list[int]:
    return [dict(call.traffic)["hbm"] for call in plan.calls]


def test_operators_pass_the_map_through_memory_and_one_call_does_not() -> None:
    """x 25,690,112, w 1,179,648, the map 25,233,408 and the pooled one 6,308,352 bytes; and the bias."""
    graph = workload("conv_bias_pool")
    apart = rdu_model.lower(graph, SN40L, mode="operator")
    assert [call.nodes for call in apart.calls] == [("lines", "patches", "conv"), ("biased", "bands", "pools", "y")]
    assert off_chip(apart) == [25_690_112 + 1_179_648 + 25_233_408, 25_233_408 + BIAS + 6_308_352]
    assert sum(off_chip(apart)) == 83_644_928 + BIAS
    together = rdu_model.lower(graph, SN40L, mode="fused")
    assert off_chip(together) == [33_178_112 + BIAS]
    written = rdu_model.lower(graph, SN40L, mode="unfused")
    assert off_chip(written)[1] == (3 * 222 * 224 + 9 * 222 * 222) * 256 * 2


def test_stages_work_on_a_few_columns_while_the_next_come() -> None:
    """The picture streams: PMUs hold the columns of a step with those that windows share, not all and no copies."""
    graph = workload("conv_bias_pool")
    section = (
        compile_graph(graph, SN40L, Choices("fused", "hardware", "estimate", "overlapped", 0), 1).sections[0].section
    )
    pipes = [pipe for pipe in section.flow.metapipe.body if isinstance(pipe, Pipe)]
    assert [pipe.dim for pipe in pipes] in (["pooled_rows"], ["pooled_columns"])
    inside = {found.name for found in section.flow.leaves.values() if found.path}
    assert {"load x", "conv", "biased", "y", "store y"} <= inside
    held = next(buffer for buffer in section.buffers if buffer.link.source == "load x")
    lines = 2 * pipes[0].extent + 2
    assert held.slot_bytes == 256 * 224 * lines * 2
    assert isinstance(section.flow.leaves["load x"].leaf, Load)


def test_time_is_near_what_the_array_needs() -> None:
    """58.1 GFLOP at the datasheet's 638 TFLOP/s take 91 us; what the array leaves idle is less than that."""
    report = summarize(run_plan(rdu_model.lower(workload("conv_bias_pool"), SN40L, mode="fused")))
    assert 91e-6 < report.time_s < 2 * 91e-6


@pytest.mark.parametrize(
    ("machine", "height", "width", "stride"), [("unit", 21, 15, 2), ("unit", 15, 22, 3), ("sn40l", 41, 23, 2)]
)
def test_pipelines_of_windows_give_the_numbers_of_their_graph(
    machine: str, height: int, width: int, stride: int
) -> None:
    small = {"batch": 1, "channels": 4, "filters": 3, "height": height, "width": width, "pool_height": stride}
    graph = workload("conv_bias_pool", overrides=small)
    arrays = random_arrays(graph, 7)
    due = evaluate(graph, arrays)["y"]
    for mode in ("operator", "fused"):
        plan = rdu_model.lower(graph, rdu_model.load_machine(machine), mode=mode)
        np.testing.assert_allclose(execute(plan, arrays)["y"], due, atol=1e-12)


def line(n: int, pad: int, kernel: int, stride: int, k: int, pool: int) -> Graph:
    wide = n + 2 * pad
    conv = (wide - kernel) // stride + 1
    out = (conv - k) // pool + 1
    return parse_graph(
        f"""name: line
extents: {{n: {n}, wide: {wide}, conv: {conv}, kernel: {kernel}, out: {out}, k: {k}}}
tensors: {{x: {{dims: [n], dtype: fp32, role: input}}, w: {{dims: [kernel], dtype: fp32, role: weight}}}}
nodes:
  padded: {{kind: buffer, fn: pad, reads: [x], along: n, to: wide, before: {pad}, after: {pad}}}
  taps: {{kind: buffer, fn: window, reads: [padded], along: wide, to: conv kernel, stride: {stride}}}
  made: {{kind: mm, reads: [taps, w], over: [kernel]}}
  pools: {{kind: buffer, fn: window, reads: [made], along: conv, to: out k, stride: {pool}}}
  y: {{kind: reduce, fn: max, reads: [pools], over: [k]}}
""",
        "line.yaml",
    )


@settings(max_examples=15, deadline=None)
@given(
    n=st.integers(12, 30),
    pad=st.integers(0, 1),
    kernel=st.integers(2, 3),
    stride=st.integers(1, 2),
    k=st.integers(1, 3),
    pool=st.integers(1, 3),
    tile=st.integers(1, 4),
)
def test_steps_together_have_every_element_once(
    n: int, pad: int, kernel: int, stride: int, k: int, pool: int, tile: int
) -> None:
    """Of the first step, of those between and of the last, along each dim that follows the loop's."""
    graph = line(n, pad, kernel, stride, k, pool)
    found: tuple[Follow, ...] = follows(graph, graph.blocks[0].nodes)
    ends = {follow.leader for follow in found}
    if tile >= graph.sizes["out"]:
        return
    steps = list(steps_in(Pipe("out", tile, ()), dict(graph.sizes), ends))
    for dim in ("out", "conv", "wide", "n"):
        assert sum(count * with_steps(found, cut)[dim] for count, cut in steps) == graph.sizes[dim]


def test_a_residual_block_is_one_call() -> None:
    graph = workload("resnet_block")
    plan = rdu_model.lower(graph, SN40L, mode="fused")
    assert len(plan.calls) == 1
    # What came in is read twice: for the convolution, and at the end for the sum.
    assert off_chip(plan) == [compulsory(graph).total_bytes + 64 * 56 * 56 * 2]
