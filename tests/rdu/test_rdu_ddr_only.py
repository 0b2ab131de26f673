"""Machines without HBM: calls stream from DDR, and every number that is read off a run says so. Units and clocks."""

from __future__ import annotations

import pytest

from patterns.count import compulsory
from patterns.errors import DoesNotFit
from patterns.graph import Graph
from patterns.library import workload
from patterns.report import Report
from patterns.run import run_plan
from patterns.summarize import summarize
from rdu_model import load_machine, lower
from rdu_model.machine import Machine
from rdu_model.orchestrate import mode_names

SOFTMAX = workload("softmax", overrides={"rows": 512, "columns": 512})
WITHOUT_HBM = {"hbm_bytes": "0 B", "hbm_bytes_per_s": "0 B/s"}


def report_of(graph: Graph, machine: Machine, **how: str) -> Report:
    return summarize(run_plan(lower(graph, machine, mode=how.pop("mode", "fused"), **how)))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["sn10", "sn30", "plasticine"])
@pytest.mark.parametrize("mode", mode_names())
def test_bytes_bounds_and_use_are_those_of_ddr(name: str, mode: str) -> None:
    machine = load_machine(name)
    report = report_of(SOFTMAX, machine, mode=mode)
    moved = dict(report.bytes)
    assert moved["hbm"] == 0
    assert moved["ddr"] >= compulsory(SOFTMAX).total_bytes
    assert report.bound == "ddr_bytes"
    assert report.bound_s == pytest.approx(compulsory(SOFTMAX).total_bytes / machine.ddr_bytes_per_s)
    assert 0 < dict(report.utilization)["ddr_bytes"] <= 1
    assert "hbm_bytes" not in dict(report.utilization)


def test_ddr_as_fast_as_hbm_gives_the_same_run() -> None:
    with_hbm = load_machine(
        "unit", {"hbm_bytes_per_s": "2 GB/s", "hbm_efficiency": "0.5", "hbm_latency_cycles": "7 cycles"}
    )
    ddr = {"ddr_bytes_per_s": "2 GB/s", "ddr_efficiency": "0.5", "ddr_latency_cycles": "7 cycles"}
    without = load_machine("unit", {**WITHOUT_HBM, **ddr})
    one, other = report_of(SOFTMAX, with_hbm), report_of(SOFTMAX, without)
    assert (one.time_ps, one.waterfall_ps, one.overlap_ps) == (other.time_ps, other.waterfall_ps, other.overlap_ps)
    assert (one.bound, other.bound) == ("hbm_bytes", "ddr_bytes")


def test_what_ddr_has_no_room_for_is_refused_in_its_name() -> None:
    small = load_machine("sn10", {"ddr_bytes": "1 MB"})
    with pytest.raises(DoesNotFit, match="bytes of DDR per socket") as refusal:
        lower(SOFTMAX, small, mode="fused")
    assert "HBM" not in str(refusal.value)
    # A model that no HBM holds runs from DDR.
    assert lower(workload("llama-3.1-70b", context=128), load_machine("sn10")).calls


# Hardware numbers that people got wrong.


def test_equal_cycles_of_two_clocks_are_different_times() -> None:
    """A bound in cycles does not depend on the clock; the time, by which machines are compared, does."""
    mm = workload("gemm", overrides={"m": 64, "n": 64, "k": 64})
    fast, slow = (load_machine("unit", {**rates(clock), "clock_hz": clock}) for clock in ("1.83 GHz", "1 GHz"))
    plans = [lower(mm, machine, mode="fused") for machine in (fast, slow)]
    runs = [run_plan(plan) for plan in plans]
    cycles = [run.calls[0].timeline.total_cycles for run in runs]
    assert cycles[0] == cycles[1]
    times = [run.calls[0].duration_ps for run in runs]
    assert times == [-(-cycles[0] * 10**6 // 1830), cycles[0] * 1000]


def rates(clock: str) -> dict[str, str]:
    """A byte in a cycle from memory, whatever the clock."""
    return {"hbm_bytes_per_s": clock.replace("GHz", "GB/s")}


def test_a_multiply_add_is_two_flop_in_the_work_and_in_the_peak() -> None:
    mm = workload("gemm", overrides={"m": 96, "n": 1000, "k": 1000})
    one = load_machine("plasticine", {"pcus": "1"})
    assert one.peak_flops_per_s == 192_000_000_000
    report = report_of(mm, one)
    # 96,000,000 multiply-adds, 96 in a cycle: 0.5 ms or 2 ms would be the mix-up.
    assert (report.bound, report.bound_ps) == ("matrix_flops", 10**9)
    assert report.time_s == pytest.approx(1e-3, rel=0.2)
    assert report.time_ps > 10**9
