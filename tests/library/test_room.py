"""Room in memory: what a run holds, and what its calls hand to each other."""

from __future__ import annotations

import gpu_model
import rdu_model
from patterns.counting.room import between_bytes, held_bytes, most_between_bytes
from patterns.library import workload

GPU = gpu_model.load_machine("h100_sxm")
RDU = rdu_model.load_machine("sn40l")


def test_a_run_holds_what_it_is_given_and_what_it_leaves() -> None:
    sizes = {"m": "8", "n": "16", "k": "32"}
    assert held_bytes(workload("gemm", overrides=sizes)) == (8 * 32 + 32 * 16 + 8 * 16) * 2
    attention = workload("attention", batch=2, context=64)
    cache = 2 * 2 * 64 * 8 * 128 * 2
    assert held_bytes(attention) == cache + 2 * (2 * 4096 * 2) + 2 * 4 + 64 * 4


def test_intermediates_count_and_nothing_else() -> None:
    plan = gpu_model.lower(workload("softmax", overrides={"rows": "4", "columns": "8"}), GPU, policy="pattern")
    row, powers = 4 * 2, 4 * 8 * 2
    assert [amount for _, amount in between_bytes(plan.graph, plan.calls)] == [powers, powers + row, powers + row]
    assert most_between_bytes(plan.graph) == powers + row
    fused = gpu_model.lower(plan.graph, GPU, policy="library")
    assert [amount for _, amount in between_bytes(plan.graph, fused.calls)] == [0]


def test_scores_that_no_memory_holds_are_warned_about_where_they_go_through_it() -> None:
    graph = workload("llama-3.1-8b", phase="prefill", context=131072)
    # 32 heads x 131072 queries x 131072 keys in 2 bytes, read and written, and a row's greatest.
    said = "2,199,031,644,160 bytes of intermediates, and memory has room for"
    assert said in gpu_model.lower(graph, GPU, policy="operator").warnings[0]
    assert gpu_model.lower(graph, GPU, policy="library").warnings == ()
    # An RDU has DDR for half of them.
    spilled, misfit = rdu_model.lower(graph, RDU, mode="unfused").warnings
    assert spilled == (
        "HBM has no room for 2,199,023,255,552 bytes of each socket, which lie in DDR: "
        "exponentials, masked, probabilities, scaled, scores, shifted"
    )
    assert misfit == (
        "calls pass 2,199,023,255,552 bytes of intermediates at once, and memory has room for 1,649,267,441,664: "
        "only a plan that fuses them away can run"
    )
    assert rdu_model.lower(workload("llama-3.1-8b"), RDU, mode="unfused").warnings == ()
