"""Paged attention: room by whole pages, traffic by the tokens that there are, numbers by each request's length."""

from __future__ import annotations

import numpy as np
import pytest

from gpu_model import load_machine, lower
from patterns.count import compulsory, state_capacity_bytes
from patterns.errors import SpecError
from patterns.evaluate import evaluate, random_arrays
from patterns.library import workload

LENGTHS = (1, 17, 273, 4096)


def test_room_is_rounded_to_pages_and_traffic_is_not() -> None:
    graph = workload("paged_attention")
    pages = sum(-(-length // 16) for length in LENGTHS)
    token_bytes = 2 * 8 * 128 * 2
    assert (pages, sum(LENGTHS)) == (277, 4387)
    assert state_capacity_bytes(graph) == pages * 16 * token_bytes
    assert compulsory(graph).state_bytes == sum(LENGTHS) * token_bytes


@pytest.mark.parametrize(
    ("extents", "message"),
    [
        ({"page": 768}, "requires log2"),
        ({"page": 8}, "requires page >= 16, and page is 8"),
        ({"pages": 200}, "requires slots >= tokens, and slots is 3200 and tokens is 4387"),
    ],
)
def test_pages_that_cannot_be_are_refused_with_the_rule(extents: dict[str, int | str], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        workload("paged_attention", overrides=extents)


def test_every_request_sees_its_own_tokens_wherever_their_pages_lie() -> None:
    sizes = {"batch": 2, "tokens": 20, "pages": 3, "context": 20, "kv_heads": 1, "group": 2, "head_dim": 4}
    graph = workload("paged_attention", overrides=sizes)
    arrays = random_arrays(graph, seed=1)
    # The first has 3 tokens in page 2, the second 17 in pages 1 and 0; entries beyond a length are not looked at.
    table = np.array([[*range(32, 35), *[0] * 17], [*range(16, 32), 0, 5, 5, 5]])
    arrays |= {"table": table, "last": np.array([2, 16]), "positions": np.arange(20)}
    y = evaluate(graph, arrays)["y"]
    for request, length in enumerate((3, 17)):
        k, v = (arrays[name][table[request, :length], 0] for name in ("k_cache", "v_cache"))
        scores = np.exp(arrays["q"][request, 0] @ k.T / 2)
        assert y[request, 0] == pytest.approx(scores / scores.sum(axis=1, keepdims=True) @ v)


@pytest.mark.parametrize("policy", ["library", "epilogue", "auto"])
def test_tuned_attention_reads_the_cache_in_place(policy: str) -> None:
    plan = lower(workload("paged_attention"), load_machine("h100_sxm"), policy=policy)
    read = sum(dict(call.traffic)["hbm"] for call in plan.calls)
    assert sum(LENGTHS) * 4096 < read < 1.05 * sum(LENGTHS) * 4096
