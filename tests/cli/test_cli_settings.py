"""What if a machine were otherwise: a parameter that is set is felt, and never makes a run faster than its bound."""

from __future__ import annotations

import pytest

from experiments.compare import Comparison, compare
from experiments.request import Request

FASTER = (
    "gpu.hbm_bytes_per_s=6.7 TB/s",
    "rdu.hbm_bytes_per_s=3.6 TB/s",
    "gpu.hbm_efficiency=1",
    "rdu.hbm_efficiency=1",
)
OTHERWISE = (
    "gpu.hbm_bytes_per_s=1 TB/s",
    "gpu.bf16_flops_per_cycle=64 FLOP/cycle",
    "gpu.sm_count=1",
    "gpu.clock_hz=10 GHz & gpu.boost_clock_hz=10 GHz",
    "gpu.l2_bytes=1 B",
    "rdu.hbm_bytes_per_s=100 GB/s",
    "rdu.pcus=4000",
    "rdu.clock_hz=3 GHz",
    "rdu.clock_hz=1 MHz",
    "rdu.pcu_lanes=64",
    "rdu.packed_macs=8",
)


def run(workload: str, *settings: str) -> Comparison:
    pairs = tuple((name, value) for name, _, value in (text.partition("=") for text in settings))
    return compare(Request(workload, policies=("library",), modes=("fused",), settings=pairs))


@pytest.mark.parametrize("setting", FASTER)
def test_more_of_the_memory_makes_a_kernel_that_it_limits_faster(setting: str) -> None:
    side = 0 if setting.startswith("gpu") else 1
    before, after = (run("swiglu_mlp", *given).reports[side].time_ps for given in ((), (setting,)))
    assert after < 0.95 * before


@pytest.mark.parametrize("setting", OTHERWISE)
def test_no_machine_is_faster_than_its_bound(setting: str) -> None:
    for report in run("gemm_bias_act", *setting.split(" & ")).reports:
        assert report.time_ps >= report.bound_ps
        assert sum(amount for _, amount in report.waterfall_ps) == report.time_ps
