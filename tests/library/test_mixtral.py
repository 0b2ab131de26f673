"""Mixtral 8x7B: what is published of its size, what is counted by hand, and its numbers in two ways of writing them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from patterns.count import compulsory, graph_demand, parameters
from patterns.evaluate import evaluate, random_arrays
from patterns.library import workload
from patterns.read import parse_graph

# Table 1 of arXiv 2401.04088.
LAYERS, HIDDEN, FFN, EXPERTS, CHOSEN, VOCABULARY, KV_WIDTH = 32, 4096, 14336, 8, 2, 32000, 1024
ATTENTION = 2 * HIDDEN * HIDDEN + 2 * HIDDEN * KV_WIDTH
EXPERT = 3 * HIDDEN * FFN
GAINS = 2 * HIDDEN * LAYERS + HIDDEN


def model_of(experts: int) -> int:
    """Parameters with so many experts a layer."""
    return LAYERS * (ATTENTION + HIDDEN * EXPERTS + experts * EXPERT) + GAINS + 2 * VOCABULARY * HIDDEN


def test_it_has_the_published_parameters() -> None:
    """46.7 billion in all, 12.9 billion active."""
    assert parameters(workload("mixtral")) == model_of(EXPERTS) == 46_702_792_704
    assert round(model_of(EXPERTS) / 1e9, 1) == 46.7
    assert round(model_of(CHOSEN) / 1e9, 1) == 12.9


@pytest.mark.parametrize("batch", [1, 3, 8])
def test_a_step_reads_the_experts_that_are_expected_and_computes_the_chosen(batch: int) -> None:
    made = workload("mixtral", batch=batch, context=1024)
    found = EXPERTS * (1 - Fraction(EXPERTS - CHOSEN, EXPERTS) ** batch)
    moved = compulsory(made)
    # Besides experts, the embedding's rows; each layer has three tables, and each is rounded to an element.
    rows = LAYERS * found * EXPERT * 2 + batch * HIDDEN * 2
    assert abs(moved.gathered_bytes - rows) <= LAYERS * 3
    assert moved.weight_bytes == 2 * (LAYERS * (ATTENTION + HIDDEN * EXPERTS) + GAINS + VOCABULARY * HIDDEN)
    products = LAYERS * (ATTENTION + HIDDEN * EXPERTS + CHOSEN * EXPERT + 2 * 1024 * HIDDEN) + VOCABULARY * HIDDEN
    assert graph_demand(made).matrix_flops == 2 * batch * products


def test_a_member_has_a_part_of_every_expert() -> None:
    whole, part = workload("mixtral"), workload("mixtral", members=4)
    assert part.shape("w_gate") == (EXPERTS, HIDDEN, FFN // 4)
    assert part.shape("w_router") == whole.shape("w_router")


SMALL = {"tokens": 5, "hidden": 6, "experts": 4, "kept": 2, "ffn": 3}
ROUTER = """
  scores: {kind: mm, reads: [x, w_router], over: [hidden]}
  chosen: {kind: select, fn: indices, reads: [scores], along: experts, to: kept}
  best: {kind: select, fn: values, reads: [scores], along: experts, to: kept}
  powers: {kind: map, fn: exp, reads: [best]}
  total: {kind: reduce, fn: sum, reads: [powers], over: [kept]}
  share: {kind: zip, fn: div, reads: [powers, total]}"""
WAYS = {
    # The chosen experts' weights are looked up.
    "gathered": """
  own_up: {kind: gather, reads: [w_up, chosen], along: experts, distinct: uniform}
  own_down: {kind: gather, reads: [w_down, chosen], along: experts, distinct: uniform}
  up: {kind: mm, reads: [x, own_up], over: [hidden]}
  active: {kind: map, fn: silu, reads: [up]}
  each: {kind: mm, reads: [active, own_down], over: [ffn]}
  y: {kind: mm, reads: [each, share], over: [kept]}""",
    # Every expert computes all tokens; those that did not choose it count 0.
    "masked": """
  is_chosen: {kind: zip, fn: equal, reads: [chosen, numbers]}
  mask: {kind: mm, reads: [is_chosen, share], over: [kept]}
  up: {kind: mm, reads: [x, w_up], over: [hidden]}
  active: {kind: map, fn: silu, reads: [up]}
  each: {kind: mm, reads: [active, w_down], over: [ffn]}
  y: {kind: mm, reads: [each, mask], over: [experts]}""",
}


def layer(way: str) -> str:
    declared = "  is_chosen: {dims: [tokens, kept, experts], dtype: bf16, role: intermediate}\n" * (way == "masked")
    return f"""
name: layer
extents: {SMALL}
tensors:
  x: {{dims: [tokens, hidden], dtype: bf16, role: input}}
  numbers: {{dims: [experts], dtype: int32, role: input}}
  w_router: {{dims: [hidden, experts], dtype: bf16, role: weight}}
  w_up: {{dims: [experts, hidden, ffn], dtype: bf16, role: weight}}
  w_down: {{dims: [experts, ffn, hidden], dtype: bf16, role: weight}}
{declared}nodes:{ROUTER}{WAYS[way]}
""".replace("'", "")


def test_gathered_experts_and_masked_ones_give_the_same() -> None:
    arrays = random_arrays(parse_graph(layer("masked")), 1) | {"numbers": np.arange(4)}
    found = [evaluate(parse_graph(layer(way)), arrays)["y"] for way in WAYS]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
    # By hand, token by token.
    x, up, down = arrays["x"], arrays["w_up"], arrays["w_down"]
    for token in range(5):
        scores = x[token] @ arrays["w_router"]
        chosen = sorted(range(4), key=lambda e: -scores[e])[:2]
        weights = np.exp(scores[chosen]) / np.exp(scores[chosen]).sum()
        rows = [x[token] @ up[e] for e in chosen]
        outs = [(row / (1 + np.exp(-row))) @ down[e] for row, e in zip(rows, chosen, strict=True)]
        np.testing.assert_allclose(found[0][token], sum(w * o for w, o in zip(weights, outs, strict=True)), rtol=1e-9)
