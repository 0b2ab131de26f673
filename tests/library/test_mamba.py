"""Mamba-130M: sizes and work as published, decode that goes on where prefill ends, and numbers by hand."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gpu_model
import rdu_model
from patterns.count import node_demand, ops, parameters, tensor_bytes
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.library import workload
from patterns.numbers.execute import execute

SMALL = {"hidden": "6", "layers": "2", "d_state": "3", "dt_rank": "2", "vocabulary": "11", "batch": "2"}
# Of the discretisation, the recurrence and the output: those with an element for each state of each token.
OF_STATES = ("exponent", "decay", "driven", "states", "read", "read_sum")


def test_parameters_are_those_of_the_model() -> None:
    """By hand from config.json: 129,135,360."""
    inner, low, state = 2 * 768, 48, 16
    projections = 768 * 2 * inner + inner * (low + 2 * state) + low * inner + inner + inner * 768
    layer = projections + (4 * inner + inner) + (inner * state + inner) + 768
    assert parameters(workload("mamba")) == 50_280 * 768 + 24 * layer + 768 == 129_135_360


def test_work_of_the_selective_scan_is_the_usual_count() -> None:
    """9 B L D N FLOPs a layer. We count 7 ops a state: the multiply-add of the recurrence is one, and dt x is taken
    once for a channel where the usual count multiplies dt, B and x for every state.
    """
    graph = workload("mamba", "prefill")
    states = 1 * 1024 * 1536 * 16
    counted = {node.name: ops(node_demand(graph, node)) for _, node in graph.nodes() if node.name in OF_STATES}
    assert counted == {"exponent": states, "decay": 2 * states, **dict.fromkeys(OF_STATES[2:], states)}
    multiply_adds, products_for_each_state = states, states
    assert sum(counted.values()) + multiply_adds + products_for_each_state == 9 * states == 226_492_416


@pytest.mark.parametrize("context", [1, 100_000])
def test_what_is_kept_does_not_grow_with_the_context(context: int) -> None:
    graph = workload("mamba", context=context)
    assert tensor_bytes(graph, "ssm_state") == 1536 * 16 * 4 == 98_304
    assert tensor_bytes(graph, "conv_state") == 1536 * 4 * 2 == 12_288
    assert graph.copies("ssm_state") == graph.copies("conv_state") == 24


def by_hand(a: dict[str, Any], layers: int) -> Any:
    """Scores of the vocabulary after the last token, by algorithm 2 of the paper. Changes the states."""
    norm = lambda x: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)  # noqa: E731
    silu = lambda x: x / (1 + np.exp(-x))  # noqa: E731
    for t in range(a["tokens"].shape[1]):
        stream = a["embedding"][a["tokens"][:, t]]
        for n in range(layers):
            w = {name: array[n] for name, array in a.items() if name not in ("tokens", "embedding", "final_gain")}
            u = norm(stream) * w["gain"]
            window = np.concatenate([w["conv_state"][..., 1:], (u @ w["w_x"])[..., None]], axis=-1)
            a["conv_state"][n] = window
            x = silu((window * w["w_conv"]).sum(-1) + w["conv_bias"])
            dt = np.log1p(np.exp(x @ w["w_low"] @ w["w_dt"] + w["dt_bias"]))
            decay = np.exp(dt[..., None] * -np.exp(w["a_log"]))
            state = decay * w["ssm_state"] + (dt * x)[..., None] * (x @ w["w_b"])[:, None, :]
            a["ssm_state"][n] = state
            y = (state * (x @ w["w_c"])[:, None, :]).sum(-1) + w["d_skip"] * x
            stream = stream + (y * silu(u @ w["w_z"])) @ w["w_out"]
    return (norm(stream) * a["final_gain"]) @ a["embedding"].T


def numbers(graph: Graph) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """Arrays of a graph, the same with states as they end by hand, and the scores."""
    arrays = random_arrays(graph, 1)
    end = {name: array.copy() for name, array in arrays.items()}
    return arrays, end, by_hand(end, 2)


@pytest.mark.parametrize("phase", ["prefill", "decode"])
def test_numbers_are_those_of_the_algorithm(phase: str) -> None:
    graph = workload("mamba", phase, overrides={**SMALL, "context": "7"})
    arrays, end, scores = numbers(graph)
    found = evaluate(graph, arrays, also=["logits"])
    np.testing.assert_allclose(found["logits"][:, 0], scores, rtol=1e-9)
    for state in ("conv_state", "ssm_state"):
        np.testing.assert_allclose(found[state], end[state], rtol=1e-9, atol=1e-12, err_msg=state)


def test_decode_goes_on_where_the_prefill_ends() -> None:
    whole = workload("mamba", "prefill", overrides={**SMALL, "context": "7"})
    arrays = random_arrays(whole, 2)
    expected = evaluate(whole, arrays, also=["logits"])
    step = workload("mamba", overrides=SMALL)
    found = arrays
    for t in range(7):
        found = evaluate(step, {**arrays, **_states(found), "tokens": arrays["tokens"][:, t : t + 1]}, also=["logits"])
    for name in ("logits", "conv_state", "ssm_state"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-12, err_msg=name)


def _states(arrays: dict[str, Any]) -> dict[str, Any]:
    return {name: arrays[name] for name in ("conv_state", "ssm_state")}


@pytest.mark.parametrize(
    ("model", "machine", "way", "phase"),
    [
        (gpu_model, "h100_sxm", {"policy": "operator"}, "prefill"),
        (gpu_model, "h100_sxm", {"policy": "library"}, "prefill"),
        (gpu_model, "h100_sxm", {"policy": "auto"}, "decode"),
        (rdu_model, "sn40l", {"mode": "looped"}, "prefill"),
        (rdu_model, "sn40l", {"mode": "fused"}, "decode"),
    ],
    ids=lambda value: str(value) if isinstance(value, str | dict) else "",
)
def test_every_way_to_run_it_gives_its_numbers(
    model: ModuleType, machine: str, way: dict[str, str], phase: str
) -> None:
    graph = workload("mamba", phase, overrides={**SMALL, "context": "7"})
    arrays = random_arrays(graph, 1)
    found, expected = execute(model.lower(graph, model.load_machine(machine), **way), arrays), evaluate(graph, arrays)
    for name in expected:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-12, err_msg=name)


def test_a_fused_scan_keeps_its_states_in_registers() -> None:
    """Alone, a scan reads what goes in and writes all states; fused, it moves what a selective scan's kernel does."""
    graph = workload("mamba", "prefill")
    machine = gpu_model.load_machine("h100_sxm")
    moved = {}
    for policy in ("operator", "library"):
        calls = gpu_model.lower(graph, machine, policy=policy).calls
        (scan,) = [call for call in calls if "states" in call.nodes]
        moved[policy] = dict(scan.traffic)["hbm"]
    states, tokens = 1024 * 1536 * 16 * 4, 1024 * 1536 * 2
    assert moved["operator"] == 3 * states + 1536 * 16 * 4
    # dt, x with its skip, z, B, C and y: a few tensors of the size of a token's, some of which the L2 still has.
    assert moved["library"] < 6 * tokens
