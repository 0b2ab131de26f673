"""Families of measurements: each is a file, its rows are whole, and what they predict has the right size."""

from __future__ import annotations

import pickle
from importlib import import_module
from math import inf

import pytest

from experiments.families.gemm import PRODUCT, QUANTIZE_FIXED_US, QUANTIZE_SLOWDOWN, predicted_us
from experiments.families.llama_decode_kernels import NODES, beside_us, part_ms
from experiments.families.memory_bound import gbytes_per_s
from experiments.sides import machine_names
from experiments.validation.family import FAMILIES, family_names, rows_of
from experiments.validation.flash_attention import attention_tflops
from experiments.validation.graphs import attention, gemm, product, unmasked
from experiments.validation.llama import decode_plan, step_ms
from experiments.validation.published import MEASURED, published
from experiments.validation.replay import kernel_us, replayed_us
from experiments.validation.tables import Tables
from gpu_model import load_machine, lower
from patterns.count import graph_demand
from patterns.plugin import data_files

H100 = load_machine("h100_sxm")


@pytest.mark.parametrize("name", family_names())
def test_a_family_says_what_it_is_and_its_rows_are_whole(name: str) -> None:
    assert (import_module(f"{FAMILIES}.{name}").__doc__ or "").startswith(f"{name}: ")
    rows = rows_of(name, Tables())
    assert len({(row.machine, row.id) for row in rows}) == len(rows)
    for row in rows:
        assert row.family == name
        assert row.machine in machine_names(row.side)
        assert 0 < row.measured < (row.to or inf)
        assert row.unit
        assert row.source
        assert pickle.loads(pickle.dumps(row)).id == row.id


@pytest.mark.parametrize("table", sorted(set(data_files(MEASURED, ".yaml")) - {"bands", "errors"}))
def test_a_published_table_is_whole(table: str) -> None:
    figures = published(table)
    assert figures
    assert len({figure.id for figure in figures}) == len(figures)


def test_a_row_of_fp8_quantises_its_input_in_kernels_before_the_product() -> None:
    graph = gemm(64, 512, 1024, "fp8")
    assert graph_demand(graph).matrix_flops == 2 * 64 * 512 * 1024
    assert graph.tensor_named["quantized"].dtype == "fp8"
    assert [t.dtype for t in product(64, 512, 1024, "fp8").tensors] == ["fp8", "fp8", "bf16"]


def test_what_quantises_an_fp8_row_is_the_frameworks_and_not_tuned() -> None:
    kept: dict[str, int | str] = {"l2_keep": "a"}
    plan = lower(gemm(512, 1024, 2048, "fp8"), H100, launch="graph", options=kept)
    quantizing = [call for call in plan.calls if PRODUCT not in call.nodes and not call.combines]
    assert len(quantizing) >= 2
    times = {call.name: kernel_us(plan, call) for call in plan.calls}
    slower = (QUANTIZE_SLOWDOWN - 1) * sum(times[call.name] for call in quantizing)
    assert predicted_us(512, 1024, 2048, "fp8", H100) == pytest.approx(sum(times.values()) + slower + QUANTIZE_FIXED_US)
    assert predicted_us(512, 1024, 2048, "bf16", H100) == pytest.approx(
        replayed_us(gemm(512, 1024, 2048, "bf16"), H100, options=kept)
    )


def test_attention_without_its_mask_has_the_same_products_and_no_positions() -> None:
    masked = attention(2, 128, 128, 8, 8, 64)
    full = unmasked(masked)
    assert graph_demand(full).matrix_flops == graph_demand(masked).matrix_flops
    assert not {"positions", "slots", "masked"} & {tensor.name for tensor in full.tensors}
    assert [node.name for _, node in full.nodes()][:3] == ["scores", "scaled", "top"]


def test_throughputs_are_of_the_flops_and_bytes_that_are_counted() -> None:
    attained = attention_tflops(4, 4096, 16, 128, False, "fp16", "auto", H100)
    assert 100 < attained < 989
    assert 1000 < gbytes_per_s("softmax", "bf16", 32768, 8192, H100) < 3350


def test_the_parts_of_a_decode_step_are_calls_of_its_plan_and_sum_up_to_less_than_the_whole() -> None:
    plan = decode_plan("llama-3.1-8b", 1, 2048, 1, "graph", H100)
    nodes = {node for call in plan.calls for node in call.nodes}
    assert set(NODES.values()) <= nodes
    parts = {part: part_ms(part, 1, H100) - beside_us(part, plan, H100) / 1e3 for part in NODES}
    assert all(parts.values())
    total = part_ms("total", 1, H100) - beside_us("total", plan, H100) / 1e3
    small = [call for call in plan.calls if call.nodes and not set(NODES.values()) & set(call.nodes)]
    # A kernel that combines the parts of another is of the other's part.
    assert sum(parts.values()) + sum(kernel_us(plan, call) for call in small) / 1e3 == pytest.approx(total)
    assert any(call.combines for call in plan.calls)
    # 15 GB of weights cannot be read faster than the datasheet's 3.35 TB/s.
    assert 4.5 < total < step_ms("llama-3.1-8b", 1, 2048, 1, "graph", H100) * 1.02
