"""Convolutions of the library: figures by hand, numbers against loops, and every way in which machines run them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import gpu_model
import rdu_model
from patterns.count import compulsory, graph_demand, group_traffic
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.library import workload
from patterns.numbers.execute import execute
from patterns.plan import Plan
from patterns.run import run_plan
from patterns.summarize import summarize

# No picture is a square, and no tile divides anything.
SMALL: Mapping[str, Mapping[str, str]] = {
    "conv_bias_pool": {"batch": "2", "channels": "5", "filters": "3", "height": "11", "width": "8"},
    "depthwise_conv": {"batch": "2", "channels": "5", "height": "7", "width": "6"},
    "resnet_block": {"batch": "2", "channels": "3", "middle": "5", "height": "7", "width": "6"},
}
# Of x [1, 256, 224, 224] in two bytes; the map is 222 x 222, the pooled one 111 x 111.
X, W, BIAS = 256 * 224 * 224 * 2, 256 * 256 * 3 * 3 * 2, 256 * 2
MAP, POOLED = 256 * 222 * 222 * 2, 256 * 111 * 111 * 2
POLICIES = ("pattern", "operator", "library", "epilogue", "auto", "megakernel")
MODES = ("unfused", "operator", "fused", "looped")


def small(name: str) -> Graph:
    return workload(name, overrides=SMALL[name])


def test_a_picture_that_is_no_square_keeps_its_sides() -> None:
    """x [4, 256, 32, 16] and w [256, 256, 3, 3] give [4, 256, 30, 14], pooled [4, 256, 15, 7]."""
    graph = workload("conv_bias_pool", batch=4, overrides={"height": 32, "width": 16})
    assert graph.shape("conv") == (4, 256, 30, 14)
    assert graph.shape("y") == (4, 256, 15, 7)
    assert graph_demand(graph).matrix_flops == 1_981_808_640


def test_the_convolution_that_is_pooled_moves_what_it_must() -> None:
    graph = workload("conv_bias_pool")
    assert graph.shape("conv") == (1, 256, 222, 222)
    assert graph.shape("y") == (1, 256, 111, 111)
    assert graph_demand(graph).matrix_flops == 2 * 256 * 256 * 9 * 222 * 222 == 58_137_772_032
    assert (X, W, MAP, POOLED) == (25_690_112, 1_179_648, 25_233_408, 6_308_352)
    assert compulsory(graph).total_bytes == X + W + POOLED + BIAS == 33_178_112 + BIAS


def test_each_channel_of_a_depthwise_convolution_has_work_of_its_own_only() -> None:
    graph = workload("depthwise_conv")
    assert graph.shape("y") == (1, 64, 112, 112)
    assert graph_demand(graph).matrix_flops == 2 * 64 * 9 * 112 * 112 == 14_450_688
    assert compulsory(graph).total_bytes == 2 * (2 * 64 * 112 * 112 + 64 * 9)


def test_a_residual_block_has_the_published_work() -> None:
    """Two convolutions of 64 channels on 56 x 56: 115,605,504 multiply-adds each."""
    graph = workload("resnet_block")
    assert graph_demand(graph).matrix_flops == 2 * 2 * 115_605_504
    assert compulsory(graph).total_bytes == 2 * (2 * 64 * 56 * 56 + 2 * 64 * 64 * 9 + 2 * 64)


def traffic(plan: Plan) -> int:
    """Bytes that pass between calls and memory if no cache keeps any."""
    graph = plan.graph
    return sum(group_traffic(graph, call.block, call.nodes).total_bytes for call in plan.calls)


def test_a_map_that_is_pooled_in_its_call_is_neither_written_nor_read() -> None:
    """The saving is one write and one read of the map, whatever else there is. On both machines."""
    graph, gpu = workload("conv_bias_pool"), gpu_model.load_machine("h100_sxm")
    apart = gpu_model.lower(graph, gpu, policy="library")
    assert [call.nodes[-1] for call in apart.calls] == ["conv", "y"]
    assert traffic(apart) == 83_644_928 + BIAS
    for together in (
        gpu_model.lower(graph, gpu, policy="epilogue"),
        gpu_model.lower(graph, gpu, policy="auto"),
        rdu_model.lower(graph, rdu_model.load_machine("sn40l"), mode="fused"),
    ):
        assert [dict(call.traffic)["hbm"] for call in together.calls] == [33_178_112 + BIAS]
        assert traffic(apart) - traffic(together) == 2 * MAP == 50_466_816


def test_windows_that_are_read_as_addresses_are_not_written() -> None:
    """Written by a kernel of its own, what windows hold is nine times the picture; a product reads it in place."""
    graph, machine = workload("conv_bias_pool"), gpu_model.load_machine("h100_sxm")
    apart = gpu_model.lower(graph, machine, policy="pattern")
    assert group_traffic(graph, graph.name, ["patches"]).written_bytes == 9 * 256 * 222 * 222 * 2
    assert "patches" in [call.nodes[-1] for call in apart.calls]
    read = gpu_model.lower(graph, machine, policy="operator").calls[0]
    assert read.nodes == ("lines", "patches", "conv")
    assert dict(read.traffic)["hbm"] == X + W + MAP


def test_no_time_is_far_from_its_bound() -> None:
    """58.1 GFLOP take 58.8 us at the datasheet's 989 TFLOP/s. What tiles do not divide is a sixth more."""
    graph = workload("conv_bias_pool")
    plan = gpu_model.lower(graph, gpu_model.load_machine("h100_sxm"), policy="auto")
    assert sum(dict(call.work)["matrix_flops"] for call in plan.calls) < 1.16 * 58_137_772_032
    assert 58.8e-6 < summarize(run_plan(plan)).time_s < 2 * 58.8e-6


@pytest.mark.parametrize("name", SMALL)
def test_every_way_of_running_a_convolution_gives_its_numbers(name: str) -> None:
    graph = small(name)
    arrays = random_arrays(graph, 5)
    due = evaluate(graph, arrays)["y"]
    gpu, rdu = gpu_model.load_machine("h100_sxm"), rdu_model.load_machine("sn40l")
    plans = [gpu_model.lower(graph, gpu, policy=policy) for policy in POLICIES]
    plans += [rdu_model.lower(graph, rdu, mode=mode) for mode in MODES]
    for plan in plans:
        np.testing.assert_allclose(execute(plan, arrays)["y"], due, atol=1e-12, err_msg=plan.mode)


def test_the_numbers_of_a_pooled_convolution_are_those_of_its_definition() -> None:
    graph = small("conv_bias_pool")
    arrays = random_arrays(graph, 6)
    x, w, bias = arrays["x"], arrays["w"], arrays["bias"]
    due = np.full(graph.shape("y"), -np.inf)
    for n, o, i, j in np.ndindex(2, 3, 9, 6):
        if i // 2 < 4 and j // 2 < 3:
            found = (x[n, :, i : i + 3, j : j + 3] * w[o]).sum() + bias[o]
            due[n, o, i // 2, j // 2] = max(due[n, o, i // 2, j // 2], found)
    np.testing.assert_allclose(evaluate(graph, arrays)["y"], due, atol=1e-12)
