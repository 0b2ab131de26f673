"""Top-k and top-p sampling: the token that a plain loop draws, from the candidates that both rules leave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from patterns.count import compulsory, node_demand
from patterns.evaluate import evaluate, random_arrays
from patterns.library import workload


def drawn(logits: Any, u: float, candidates: int) -> int:
    """One draw, candidate by candidate."""
    order = sorted(range(len(logits)), key=lambda at: (-logits[at], at))[:candidates]
    weights = [float(np.exp(1.25 * (logits[at] - logits[order[0]]))) for at in order]
    kept: list[tuple[int, float]] = []
    for at, weight in zip(order, weights, strict=True):
        if sum(w for _, w in kept) / sum(weights) < 0.9:
            kept.append((at, weight))
    left = u * sum(weight for _, weight in kept)
    for at, weight in kept:
        left -= weight
        if left < 0:
            return at
    return kept[-1][0]


@pytest.mark.parametrize("u", [0.0, 0.3, 0.77, 0.999])
def test_the_token_is_the_one_that_a_loop_draws(u: float) -> None:
    graph = workload("sampling", overrides={"batch": 6, "hidden": 5, "vocabulary": 40, "candidates": 12})
    arrays = random_arrays(graph, seed=4) | {"u": np.full(6, u)}
    logits = arrays["x"] @ arrays["head"].T
    tokens = evaluate(graph, arrays)["token"]
    assert tokens.tolist() == [drawn(row, u, 12) for row in logits]


def test_the_head_is_nearly_all_that_moves() -> None:
    graph = workload("sampling")
    assert compulsory(graph).weight_bytes == 128256 * 4096 * 2
    head = next(node for _, node in graph.nodes() if node.name == "logits")
    assert node_demand(graph, head).matrix_flops == 2 * 32 * 4096 * 128256
