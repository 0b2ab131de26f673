"""A share of the L2 that keeps tensors from run to run: their bytes come from there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_model import load_machine, lower
from patterns.count import tensor_bytes
from patterns.errors import DoesNotFit, UnknownName, UserError
from patterns.library import workload
from patterns.plan import Plan
from patterns.run import run_plan
from patterns.summarize import summarize

H100 = load_machine("h100_sxm")


def gemm(**options: int | str) -> Plan:
    return lower(workload("gemm"), H100, options={"splits": 1, **options})


def hbm(plan: Plan) -> int:
    return sum(dict(call.traffic)["hbm"] * call.count for call in plan.calls)


def test_what_is_kept_comes_from_the_l2() -> None:
    plain = gemm()
    assert hbm(plain) - hbm(gemm(l2_keep="weight")) == tensor_bytes(plain.graph, "b")
    kept = gemm(l2_keep="a,weight")
    assert hbm(plain) - hbm(kept) == kept.kept_bytes == sum(tensor_bytes(plain.graph, name) for name in "ab")
    before, after = summarize(run_plan(plain)), summarize(run_plan(kept))
    assert dict(before.bytes)["l2"] == dict(after.bytes)["l2"]
    assert after.time_ps < before.time_ps
    assert after.bound_ps <= before.bound_ps


def test_all_that_is_read_can_be_kept_and_then_arrives_sooner() -> None:
    graph = workload("softmax")
    plain = lower(graph, H100)
    small = replace(H100, l2_bytes=200 * 10**6, l2_persisting_bytes=100 * 10**6)
    kept = lower(graph, small, options={"l2_keep": "input"})
    assert hbm(plain) - hbm(kept) == tensor_bytes(graph, "x")
    assert run_plan(kept).schedule.total_cycles < run_plan(plain).schedule.total_cycles


def test_what_is_set_aside_is_missing_for_others() -> None:
    # Both operands, 34 MB together, fit the L2, but not 40 % of it: they are read again.
    graph = workload("gemm_bias_act", overrides={"m": "4096", "n": "4096", "k": "2048"})
    bias = next(tensor.name for tensor in graph.tensors if len(tensor.dims) == 1)
    little, much = (lower(graph, H100, options={"l2_keep": bias, "l2_share": share}) for share in (1, 60))
    assert hbm(much) > hbm(little) + 10**6


def test_what_cannot_be_kept_is_refused() -> None:
    with pytest.raises(DoesNotFit, match=r"l2_keep does not fit: needs .* bytes of the L2 that can be kept"):
        lower(workload("llama-3.1-8b"), H100, options={"l2_keep": "weight"})
    with pytest.raises(DoesNotFit, match=r"needs 49,500,000 bytes of the L2 that can be kept"):
        gemm(l2_keep="a", l2_share=99)
    with pytest.raises(DoesNotFit, match=r"bytes of the share l2_share, there is 500,000"):
        gemm(l2_keep="input,weight", l2_share=1)
    with pytest.raises(UserError, match="the L2 of v100 keeps nothing"):
        lower(workload("gemm"), load_machine("v100"), options={"l2_keep": "weight"})
    with pytest.raises(UserError, match="give l2_keep too"):
        gemm(l2_share=10)
    with pytest.raises(UnknownName, match=r"unknown tensor or role of l2_keep 'wieght'.*weight"):
        gemm(l2_keep="wieght")


def test_a_megakernel_keeps_too() -> None:
    graph = workload("llama-3.2-1b", context=160)
    plain, kept = (lower(graph, H100, policy="megakernel", options=options) for options in ({}, {"l2_keep": "state"}))
    assert 0 < hbm(plain) - hbm(kept) <= kept.kept_bytes
