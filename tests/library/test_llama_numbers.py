"""The Llama graph on numbers: against a decoder written by hand, and against itself run in other ways."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.library import workload

Array = Any
Arrays = dict[str, Any]
LAYERS, HEADS, KV_HEADS, HEAD_DIM = 3, 4, 2, 6
SMALL = {
    "layers": str(LAYERS),
    "hidden": "12",
    "model_heads": str(HEADS),
    "model_kv_heads": str(KV_HEADS),
    "head_dim": str(HEAD_DIM),
    "model_ffn": "10",
    "model_vocabulary": "14",
}


def llama(phase: str, batch: int, context: int, members: int = 1, **more: str) -> Graph:
    return workload("llama", phase, batch, context, members, {**SMALL, **more})


def angles(positions: Array) -> tuple[Array, Array]:
    """Cosines and signed sines [..., head_dim] of positions, theta 10000."""
    turn = positions[..., None] * 10000.0 ** (-np.arange(HEAD_DIM // 2) / (HEAD_DIM / 2))
    cos, sin = np.cos(turn), np.sin(turn)
    return np.concatenate([cos, cos], -1), np.concatenate([-sin, sin], -1)


def model(seed: int, batch: int, context: int) -> Arrays:
    """Weights, and an empty cache."""
    arrays = random_arrays(llama("decode", batch, context), seed)
    return {**arrays, "k_cache": arrays["k_cache"] * 0, "v_cache": arrays["v_cache"] * 0}


def tokens_at(arrays: Arrays, tokens: Array, first: int, context: int) -> Arrays:
    """The inputs for tokens [batch, seq] at positions from `first` on."""
    positions = np.broadcast_to(np.arange(first, first + tokens.shape[1]), tokens.shape)
    cos, sin = angles(positions)
    slots = np.arange(context)
    return {**arrays, "tokens": tokens, "positions": positions, "slots": slots, "cos": cos, "sin": sin}


def norm(x: Array, gain: Array) -> Array:
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * gain


def rotated(x: Array, position: int) -> Array:
    """x [heads, head_dim] turned as pairs (i, i + head_dim / 2)."""
    half = HEAD_DIM // 2
    turn = np.exp(1j * position * 10000.0 ** (-np.arange(half) / half))
    turned = (x[:, :half] + 1j * x[:, half:]) * turn
    return np.concatenate([turned.real, turned.imag], -1)


def logits_by_hand(arrays: Arrays, tokens: list[int]) -> Array:
    """Logits after one sequence, with loops over tokens and heads."""
    stream = [arrays["embedding"][token] for token in tokens]
    for layer in range(LAYERS):
        w = {
            name: array[layer]
            for name, array in arrays.items()
            if name.startswith("w_") or (name.endswith("_gain") and name != "final_gain")
        }
        keys, values = [], []
        for position, x in enumerate(stream):
            h = norm(x, w["attention_gain"])
            keys.append(rotated(np.einsum("h,hkd->kd", h, w["w_k"]), position))
            values.append(np.einsum("h,hkd->kd", h, w["w_v"]))
            q = np.einsum("h,hkgd->kgd", h, w["w_q"])
            update = np.zeros_like(x)
            for kv in range(KV_HEADS):
                for group in range(HEADS // KV_HEADS):
                    turned = rotated(q[kv, group][None], position)[0]
                    score = np.array([turned @ key[kv] for key in keys]) / np.sqrt(HEAD_DIM)
                    weight = np.exp(score) / np.exp(score).sum()
                    attended = sum(p * value[kv] for p, value in zip(weight, values, strict=True))
                    update += attended @ w["w_o"][kv, group]
            x = x + update
            h = norm(x, w["ffn_gain"])
            gate = h @ w["w_gate"]
            stream[position] = x + (gate / (1 + np.exp(-gate)) * (h @ w["w_up"])) @ w["w_down"]
    return arrays["head"] @ norm(stream[-1], arrays["final_gain"])


def prefilled(arrays: Arrays, tokens: Array, context: int, members: int = 1) -> Arrays:
    graph = llama("prefill", *tokens.shape[:1], context, members)
    return evaluate(graph, tokens_at(arrays, tokens, 0, context), members, also=["logits"])


def test_prefill_is_the_decoder_written_by_hand() -> None:
    arrays = model(5, batch=2, context=4)
    tokens = np.array([[3, 1, 13, 0], [2, 2, 7, 5]])
    found = prefilled(arrays, tokens, 4)
    expected = [logits_by_hand(arrays, list(row)) for row in tokens]
    np.testing.assert_allclose(found["logits"][:, 0], expected, rtol=1e-9)
    np.testing.assert_array_equal(found["next_token"][:, 0], np.argmax(expected, axis=1))


def test_decoding_token_by_token_is_prefill() -> None:
    context, tokens = 5, np.array([[3, 1, 13, 0, 9], [2, 2, 7, 5, 5]])
    arrays = model(6, batch=2, context=context)
    found = {}
    for position in range(context):
        step = tokens_at(arrays, tokens[:, position : position + 1], position, context)
        found = evaluate(llama("decode", 2, context), step, also=["logits"])
        arrays = {**arrays, "k_cache": found["k_cache"], "v_cache": found["v_cache"]}
    expected = prefilled(model(6, batch=2, context=context), tokens, context)
    for name in ("logits", "k_cache", "v_cache", "next_token"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-12)


# Where members divide an array: the axis after that of layers and the extent they share.
DIVIDED = {
    "w_q": 2, "w_k": 2, "w_v": 2, "w_o": 1, "w_gate": 2, "w_up": 2, "w_down": 1, "k_cache": 3, "v_cache": 3,
    "embedding": 0, "head": 0,
}  # fmt: skip


def test_members_together_are_the_whole_model() -> None:
    context, tokens = 3, np.array([[3, 1, 13]])
    whole = model(7, batch=1, context=context)
    shared = {
        name: np.stack(np.split(array, 2, DIVIDED[name])) if name in DIVIDED else array for name, array in whole.items()
    }
    given = tokens_at(shared, tokens, 0, context)
    given["tokens"] = np.stack([tokens, tokens - 7])  # each member counts from the start of its part of the table
    found = evaluate(llama("prefill", 1, context, members=2), given, 2, also=["logits"])
    expected = prefilled(whole, tokens, context)
    np.testing.assert_allclose(np.concatenate(list(found["logits"]), axis=-1), expected["logits"], rtol=1e-9)
    np.testing.assert_allclose(np.concatenate(list(found["k_cache"]), axis=3), expected["k_cache"], rtol=1e-9)


@pytest.mark.parametrize("name", ["softmax", "stable_softmax"])
def test_softmaxes_are_softmax(name: str) -> None:
    made = workload(name, overrides={"rows": "3", "columns": "5"})
    arrays = random_arrays(made, 0)
    expected = np.exp(arrays["x"]) / np.exp(arrays["x"]).sum(1, keepdims=True)
    np.testing.assert_allclose(evaluate(made, arrays)["y"], expected)
    huge = evaluate(workload("stable_softmax", overrides={"rows": "3", "columns": "5"}), {"x": arrays["x"] * 1e5})["y"]
    np.testing.assert_allclose(huge.sum(1), 1)


def test_the_other_graphs_are_their_formulas() -> None:
    small = {"rows": "3", "hidden": "5"}
    a = random_arrays(workload("add_rms_norm", overrides=small), 0)
    found = evaluate(workload("add_rms_norm", overrides=small), a)
    np.testing.assert_allclose(found["stream"], a["x"] + a["residual"])
    np.testing.assert_allclose(found["y"], norm(a["x"] + a["residual"], a["gain"]))
    plain = evaluate(workload("rms_norm", overrides=small), {"x": a["x"], "gain": a["gain"]})["y"]
    np.testing.assert_allclose(plain, norm(a["x"], a["gain"]))
    small = {"m": "3", "n": "4", "k": "5"}
    a = random_arrays(workload("gemm_bias_act", overrides=small), 0)
    t = a["a"] @ a["b"] + a["bias"]
    gelu = t * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (t + 0.044715 * t**3)))
    np.testing.assert_allclose(evaluate(workload("gemm_bias_act", overrides=small), a)["y"], gelu)
    product = evaluate(workload("gemm", overrides=small), {"a": a["a"], "b": a["b"]})["c"]
    np.testing.assert_allclose(product, a["a"] @ a["b"])
