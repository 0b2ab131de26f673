"""Backward passes: each gradient is the slope of the loss, and products backward are counted as they are made."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from patterns.count import group_demand
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.library import workload

STEP = 1e-6
SMALL = {"rows": 3, "tokens": 3, "hidden": 4, "ffn": 6, "batch": 1, "heads": 2, "seq": 3, "head_dim": 4}
# Of each graph the gradients by what they are of, and the results by what multiplies them in the loss.
GRADIENTS: Mapping[str, tuple[Mapping[str, str], Mapping[str, str]]] = {
    "layer_norm_training": ({"x": "dx", "gain": "d_gain", "bias": "d_bias"}, {"y": "dy"}),
    "rms_norm_training": (
        {"x": "d_stream", "residual": "d_stream", "gain": "d_gain"},
        {"y": "dy", "stream": "d_later"},
    ),
    "gelu_mlp_training": ({"x": "dx", "w_in": "d_w_in", "w_out": "d_w_out"}, {"y": "dy"}),
    "swiglu_mlp_training": (
        {"x": "dx", "w_gate": "d_w_gate", "w_up": "d_w_up", "w_down": "d_w_down"},
        {"y": "dy"},
    ),
    "attention_training": ({"q": "dq", "k": "dk", "v": "dv"}, {"y": "dy"}),
}


def small(name: str) -> Graph:
    extents = dict(workload(name).extents)
    return workload(name, overrides={key: value for key, value in SMALL.items() if key in extents})


@pytest.mark.parametrize("name", GRADIENTS)
def test_every_gradient_is_the_slope_of_the_loss(name: str) -> None:
    graph, (gradients, results) = small(name), GRADIENTS[name]
    arrays = random_arrays(graph, seed=1)
    found = evaluate(graph, arrays)
    random = np.random.default_rng(2)
    for given, gradient in gradients.items():
        direction = random.standard_normal(np.shape(arrays[given]))
        loss = []
        for step in (STEP, -STEP):
            moved = evaluate(graph, {**arrays, given: arrays[given] + step * direction})
            loss.append(sum(float((moved[made] * arrays[by]).sum()) for made, by in results.items()))
        slope = (loss[0] - loss[1]) / (2 * STEP)
        assert slope == pytest.approx(float((found[gradient] * direction).sum()), rel=1e-6, abs=1e-7)
        assert abs(slope) > 1e-6


def flops(graph: Graph, block: str) -> int:
    return group_demand(graph, block, [node.name for node in graph.block_named[block].nodes]).matrix_flops


def test_an_mlp_takes_twice_its_forward_products_backward_and_less_without_an_input_gradient() -> None:
    graph = workload("gelu_mlp_training")
    forward, backward, first = (flops(graph, name) for name in ("forward", "backward", "input_gradient"))
    assert forward == 2 * 2 * 2048 * 4096 * 16384 == 549_755_813_888
    assert backward == 824_633_720_832
    assert backward + first == 1_099_511_627_776


def test_recomputed_products_are_counted_apart() -> None:
    graph = workload("swiglu_mlp_training")
    one = 2 * 2048 * 4096 * 14336
    assert [flops(graph, name) for name in ("forward", "recompute", "backward")] == [3 * one, 2 * one, 6 * one]


def test_attention_backward_is_two_and_a_half_times_forward() -> None:
    graph = workload("attention_training")
    assert 2 * flops(graph, "backward") == 5 * flops(graph, "forward") == 5 * 2 * 2 * 4 * 16 * 2048 * 2048 * 128
