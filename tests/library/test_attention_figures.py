"""Attention workloads: cache bytes and FLOPs derived by hand, and numbers against attention written out in numpy."""

from __future__ import annotations

import numpy as np
import pytest

from gpu_model import load_machine, lower
from patterns.count import compulsory, graph_demand
from patterns.evaluate import evaluate, random_arrays
from patterns.library import workload
from patterns.numbers.execute import execute
from rdu_model import load_machine as load_rdu
from rdu_model import lower as lower_rdu


@pytest.mark.parametrize(("name", "kv_bytes", "intensity"), [("gqa_decode", 16_777_216, 4), ("mqa_decode", 2**21, 32)])
def test_cache_bytes_follow_kv_heads_and_flops_query_heads(name: str, kv_bytes: int, intensity: int) -> None:
    """K and V of 4096 tokens, 128 values of 2 bytes for each KV head; 2 products of 32 heads."""
    graph = workload(name)
    assert compulsory(graph).state_bytes == kv_bytes
    assert graph_demand(graph).matrix_flops == 4 * 32 * 128 * 4096 == 67_108_864 == intensity * kv_bytes
    assert compulsory(workload(name, context=100_000)).state_bytes == kv_bytes * 100_000 // 4096


@pytest.mark.parametrize(("context", "kept"), [(1000, 1000), (4096, 4096), (32_768, 4096), (1_000_000, 4096)])
def test_a_decode_step_reads_the_window_only(context: int, kept: int) -> None:
    graph = workload("sliding_window_attention", context=context)
    assert compulsory(graph).state_bytes == 2 * kept * 8 * 128 * 2
    assert graph_demand(graph).matrix_flops == 4 * 32 * 128 * kept


def attended(q: np.ndarray, k: np.ndarray, v: np.ndarray, at: int, held: list[int], window: int) -> np.ndarray:
    """One query at position `at` over keys at the positions that are held."""
    seen = [slot for slot, position in enumerate(held) if at - window < position <= at]
    scores = k[seen] @ q / np.sqrt(len(q))
    weights = np.exp(scores - scores.max())
    return (weights / weights.sum()) @ v[seen]


@pytest.mark.parametrize(("seq", "context"), [(1, 5), (1, 40), (6, 6), (3, 40)])
def test_a_rolling_cache_attends_to_the_window(seq: int, context: int) -> None:
    """The cache holds the last positions in slots that were written over in turn."""
    sizes = {"seq": seq, "context": context, "window": 8, "kv_heads": 2, "group": 2, "head_dim": 16}
    graph = workload("sliding_window_attention", overrides=sizes)
    kept = graph.sizes["kept"]
    assert kept == min(context, 8 + seq - 1)
    held = [max(range(slot, context, kept)) for slot in range(kept)]
    positions = np.arange(context - seq, context)[None]
    arrays = {**random_arrays(graph, 1), "positions": positions, "slots": np.array(held)}
    expected = [
        [[attended(arrays["q"][0, row, h, g], arrays["k"][0, :, h], arrays["v"][0, :, h], at, held, 8) for g in (0, 1)]
         for h in (0, 1)]
        for row, at in enumerate(positions[0])
    ]  # fmt: skip
    made = [evaluate(graph, arrays)["y"]]
    made += [execute(lower(graph, load_machine("h100_sxm")), arrays)["y"]]
    made += [execute(lower_rdu(graph, load_rdu("sn40l"), mode="fused"), arrays)["y"]]
    for y in made:
        np.testing.assert_allclose(y, [expected], rtol=1e-9)


def test_a_windowed_prefill_skips_what_no_row_of_a_tile_sees() -> None:
    """Of 4096 x 4096 pairs a window of 512 keeps an eighth, and tiles of 128 issue the two diagonals they cut."""
    graph = workload("sliding_window_attention", "prefill", context=4096, overrides={"window": 512})
    issued = dict(lower(graph, load_machine("h100_sxm")).calls[0].work)["matrix_flops"]
    kept = 4 * 32 * 128 * (512 * 4096 - 512 * 511 // 2)
    assert kept < issued < 1.4 * kept
