"""The training graph of GPT-2: its backward pass is the derivative of its forward pass, its sizes are GPT-2 XL's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from patterns.count import graph_demand, parameters
from patterns.evaluate import evaluate, random_arrays
from patterns.library import workload

SMALL = {"batch": "2", "seq": "3", "hidden": "8", "head_dim": "4"}
# A step that float64 differences are best with, and what they are then good for.
STEP = 1e-6
CLOSE = 1e-6
GRADIENTS = {
    "x": "dx",
    "w_q": "d_w_q",
    "w_k": "d_w_k",
    "w_v": "d_w_v",
    "w_o": "d_w_o",
    "w_fc": "d_w_fc",
    "w_proj": "d_w_proj",
    "gain_1": "d_gain_1",
    "bias_1": "d_bias_1",
    "gain_2": "d_gain_2",
    "bias_2": "d_bias_2",
    "bias_q": "d_bias_q",
    "bias_k": "d_bias_k",
    "bias_v": "d_bias_v",
    "bias_o": "d_bias_o",
    "bias_fc": "d_bias_fc",
    "bias_proj": "d_bias_proj",
}


def small_arrays() -> dict[str, Any]:
    arrays = random_arrays(workload("gpt2_training", overrides=SMALL), seed=1)
    positions = np.broadcast_to(np.arange(3), (2, 3))
    return {**arrays, "positions": positions, "slots": np.arange(3)}


def loss(arrays: dict[str, Any]) -> float:
    """A scalar of which dy is the gradient with respect to y."""
    results = evaluate(workload("gpt2_training", overrides=SMALL), arrays)
    return float((results["y"] * arrays["dy"]).sum())


@pytest.mark.parametrize("name", GRADIENTS)
def test_every_gradient_is_the_slope_of_the_loss(name: str) -> None:
    arrays = small_arrays()
    gradient = evaluate(workload("gpt2_training", overrides=SMALL), arrays)[GRADIENTS[name]]
    random = np.random.default_rng(2)
    direction = random.standard_normal(np.shape(arrays[name]))
    ahead, behind = (loss({**arrays, name: arrays[name] + sign * STEP * direction}) for sign in (1, -1))
    slope = (ahead - behind) / (2 * STEP)
    expected = float((gradient * direction.reshape(np.shape(gradient))).sum())
    assert slope == pytest.approx(expected, rel=CLOSE, abs=1e-7)
    # What is added to all keys alike moves no probability.
    assert (abs(slope) > 1e-4) == (name != "bias_k")


def test_a_layer_has_the_parameters_and_the_work_of_gpt2_xl() -> None:
    graph = workload("gpt2_training")
    hidden, tokens, seq = 1600, 16 * 1024, 1024
    # 12 hidden^2 weights, 9 hidden biases (4 of ffn), 4 hidden of the two norms.
    assert parameters(graph) == 12 * hidden**2 + 13 * hidden
    # Forward 2 FLOPs a weight and token, backward twice that; attention likewise, two products with seq keys a token.
    assert graph_demand(graph).matrix_flops == 3 * tokens * (2 * 12 * hidden**2 + 2 * 2 * seq * hidden)
