"""Embedding lookups: only the rows that are found move, on both machines; the table counts as room."""

from __future__ import annotations

import numpy as np
import pytest

from gpu_model import load_machine as load_gpu
from gpu_model import lower as lower_on_gpu
from patterns.count import compulsory, graph_demand, parameter_bytes
from patterns.evaluate import evaluate, random_arrays
from patterns.library import workload
from patterns.run import run_plan
from patterns.summarize import summarize
from rdu_model import load_machine as load_rdu
from rdu_model import lower as lower_on_rdu

SMALL_DLRM = {"batch": 3, "tables": 4, "rows": 7, "bag": 2, "width": 5, "bottom": 6, "top": 4, "dense": 3}


def test_a_lookup_moves_its_rows_twice_and_never_its_table() -> None:
    graph = workload("embedding")
    needed = compulsory(graph)
    # 10,000 rows of 2,560 bf16 are read and written; their indices are 4 bytes each.
    assert needed.gathered_bytes == needed.output_bytes == 51_200_000
    assert needed.total_bytes == 102_400_000 + 40_000
    assert parameter_bytes(graph) == 777_912_320


def test_a_lookup_takes_as_long_as_its_rows_on_both_machines() -> None:
    graph = workload("embedding")
    gpu, rdu = load_gpu("h100_sxm"), load_rdu("sn40l")
    for plan, hbm_bytes_per_s in (
        (lower_on_gpu(graph, gpu), gpu.hbm_bytes_per_s),
        (lower_on_rdu(graph, rdu), rdu.hbm_bytes_per_s),
    ):
        time_s = float(summarize(run_plan(plan)).time_s)
        assert 102_440_000 / hbm_bytes_per_s < time_s < 2 * 102_440_000 / hbm_bytes_per_s


def test_dlrm_adds_bags_and_multiplies_all_pairs() -> None:
    graph = workload("dlrm", overrides=SMALL_DLRM)
    arrays = random_arrays(graph, seed=3)
    arrays["ids"] = np.random.default_rng(3).integers(0, 7, (3, 4, 2))
    found = evaluate(graph, arrays, also=("bags", "products", "y"))
    for sample, table in np.ndindex(3, 4):
        rows = arrays["table"][table][arrays["ids"][sample, table]]
        assert found["bags"][table, sample] == pytest.approx(rows.sum(axis=0))
    dense = np.maximum(np.maximum(arrays["x"] @ arrays["w_bottom"], 0) @ arrays["w_dense"], 0)
    vectors = np.concatenate([found["bags"].transpose(1, 0, 2), dense[:, None]], axis=1)
    products = vectors @ vectors.transpose(0, 2, 1)
    assert found["products"] == pytest.approx(products.transpose(1, 0, 2))
    joint = np.concatenate([products.reshape(3, -1), dense], axis=1)
    click = np.maximum(joint @ arrays["w_top"], 0) @ arrays["w_click"]
    assert found["y"] == pytest.approx(1 / (1 + np.exp(-click)))


def test_dlrm_counts_every_product() -> None:
    graph = workload("dlrm")
    features, joint = 27, 27 * 27 + 64
    by_sample = 13 * 512 + 512 * 64 + features * features * 64 + joint * 512 + 512
    assert graph_demand(graph).matrix_flops == 2 * 2048 * by_sample
    assert parameter_bytes(graph) == 2 * (26 * 1_000_000 * 64 + 13 * 512 + 512 * 64 + joint * 512 + 512)


def test_what_puts_tensors_together_is_a_kernel_of_its_own_operator_by_operator() -> None:
    plan = lower_on_gpu(workload("dlrm"), load_gpu("h100_sxm"), policy="operator")
    calls = [call.nodes for call in plan.calls]
    assert [nodes for nodes in calls if "vectors" in nodes] == [("dense_one", "vectors")]
    assert [nodes for nodes in calls if "together" in nodes] == [("flat", "together")]


def test_what_puts_tensors_together_reads_each_of_them_once() -> None:
    plan = lower_on_gpu(workload("dlrm"), load_gpu("h100_sxm"), policy="pattern")
    traffic = next(dict(call.traffic) for call in plan.calls if call.nodes == ("together",))
    pairs, width, batch = 27 * 27, 64, 2048
    once = 2 * 2 * (pairs + width) * batch
    assert once <= traffic["l2"] < 1.05 * once
