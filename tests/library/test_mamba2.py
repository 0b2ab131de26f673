"""Mamba-2: parameters and work as published, chunks that equal the recurrence, decode that goes on after a prefill."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpu_model
import rdu_model
from patterns.count import graph_demand, parameters
from patterns.evaluate import evaluate, random_arrays
from patterns.library import workload
from patterns.numbers.execute import execute

SMALL = {"hidden": "4", "head_dim": "2", "layers": "2", "d_state": "3", "vocabulary": "11", "batch": "2"}
CHUNKED = {"context": "20", "chunk": "5", "heads": "3", "head_dim": "2", "d_state": "4", "batch": "2"}


def test_parameters_are_those_of_the_model() -> None:
    """By hand from config.json: 128,989,632."""
    inner, heads, channels = 2 * 768, 24, 2 * 768 + 2 * 128
    layer = 768 * (inner + channels + heads) + 5 * channels + 3 * heads + inner + inner * 768 + 768
    assert parameters(workload("mamba2")) == 50_288 * 768 + 24 * layer + 768 == 128_989_632


def test_work_of_the_chunks_is_four_matrix_products() -> None:
    """Of a token: a chunk's scores and what they weigh, what a chunk adds to the state, and what is read of it."""
    tokens, chunk, inner, state = 4096, 256, 1536, 128
    due = 2 * tokens * (chunk * state + chunk * inner + 2 * state * inner)
    assert graph_demand(workload("mamba2_ssd")).matrix_flops == due == 6_710_886_400


def by_hand(a: dict[str, Any]) -> tuple[Any, Any]:
    """Outputs and the last state of the recurrence, token by token over all chunks."""
    state, outputs = a["ssm_state"], []
    tokens = {name: a[name].reshape(a[name].shape[0], -1, *a[name].shape[3:]) for name in ("x", "dt", "b", "c")}
    for t in range(tokens["x"].shape[1]):
        x, dt, b, c = (tokens[name][:, t] for name in ("x", "dt", "b", "c"))
        decay = np.exp(dt * -np.exp(a["a_log"]))
        state = decay[:, :, None, None] * state + (dt[:, :, None] * x)[..., None] * b[:, None, None, :]
        outputs.append((state * c[:, None, None, :]).sum(-1) + a["d_skip"][:, None] * x)
    return np.stack(outputs, axis=1), state


def test_chunks_give_what_the_recurrence_gives() -> None:
    graph = workload("mamba2_ssd", overrides=CHUNKED)
    arrays = random_arrays(graph, 1) | {"steps": np.arange(5), "same_steps": np.arange(5)}
    arrays["dt"] = np.abs(arrays["dt"])
    found = evaluate(graph, arrays)
    y, state = by_hand(arrays)
    np.testing.assert_allclose(found["y"].reshape(y.shape), y, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found["ssm_state"], state, rtol=1e-9, atol=1e-12)


def test_decode_goes_on_where_the_prefill_ends() -> None:
    whole = workload("mamba2", "prefill", overrides={**SMALL, "context": "6"})
    arrays = random_arrays(whole, 2)
    expected = evaluate(whole, arrays, also=["logits"])
    step, states = workload("mamba2", overrides=SMALL), ("x_state", "pair_state", "ssm_state")
    found = arrays
    for t in range(6):
        now = {name: found[name] for name in states} | {"tokens": arrays["tokens"][:, t : t + 1]}
        found = evaluate(step, {**arrays, **now}, also=["logits"])
    for name in ("logits", *states):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize(
    ("name", "phase", "overrides"),
    [("mamba2", "prefill", {**SMALL, "context": "6"}), ("mamba2", "decode", SMALL), ("mamba2_ssd", "decode", CHUNKED)],
)
def test_the_machines_give_its_numbers(name: str, phase: str, overrides: dict[str, str]) -> None:
    graph = workload(name, phase, overrides=overrides)
    arrays = random_arrays(graph, 1)
    expected = evaluate(graph, arrays)
    on_gpu = gpu_model.lower(graph, gpu_model.load_machine("h100_sxm"), policy="library")
    on_rdu = rdu_model.lower(graph, rdu_model.load_machine("sn40l"), mode="looped")
    for plan in (on_gpu, on_rdu):
        found = execute(plan, arrays)
        for tensor in expected:
            np.testing.assert_allclose(found[tensor], expected[tensor], rtol=1e-9, atol=1e-12, err_msg=tensor)


def test_a_library_scan_makes_no_states_in_memory() -> None:
    """All states of a layer are 805 MB; the kernels of a layer move less than a tenth of that together."""
    graph = workload("mamba2", "prefill")
    calls = gpu_model.lower(graph, gpu_model.load_machine("h100_sxm"), policy="library").calls
    states = 4 * graph.elements("states")
    assert states == 805_306_368
    assert sum(dict(call.traffic)["hbm"] for call in calls if call.block == "layer") < states / 10
