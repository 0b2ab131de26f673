"""A product so small that no machine is busy with it: it is mapped and run on every machine, whole and once."""

from __future__ import annotations

import numpy as np
import pytest

import gpu_model
import rdu_model
from patterns.count import graph_demand
from patterns.library import workload
from patterns.numbers.execute import execute
from patterns.plan import Plan
from patterns.run import run_plan
from patterns.summarize import summarize

GRAPH = workload("gemm", overrides={"m": 12_544, "n": 32, "k": 27})
FLOPS = 2 * 12_544 * 32 * 27
# The depth of one matrix instruction of bf16, to which 27 is filled up: 16, and 4 on a V100. 'unit' takes any.
STEPS = {"v100": 4, "unit": 1}
GPUS = [("gpu", machine) for machine in gpu_model.machine_names()]
RDUS = [("rdu", machine) for machine in rdu_model.machine_names()]


def planned(family: str, machine: str) -> Plan:
    model = gpu_model if family == "gpu" else rdu_model
    plan: Plan = model.lower(GRAPH, model.load_machine(machine))
    return plan


@pytest.mark.parametrize(("family", "machine"), GPUS + RDUS)
def test_it_is_computed_whole_and_in_more_time_than_its_bound(family: str, machine: str) -> None:
    plan = planned(family, machine)
    random = np.random.default_rng(1)
    arrays = {"a": random.normal(size=(12_544, 27)), "b": random.normal(size=(27, 32))}
    assert np.allclose(execute(plan, arrays)["c"], arrays["a"] @ arrays["b"], rtol=1e-11, atol=1e-11)

    report = summarize(run_plan(plan))
    issued = sum(dict(call.work)["matrix_flops"] * call.count for call in plan.calls)
    assert graph_demand(GRAPH).matrix_flops == FLOPS
    if family == "gpu":
        depth = STEPS.get(machine, 16)
        assert issued == FLOPS // 27 * -(-27 // depth) * depth
    assert FLOPS <= issued < 1.25 * FLOPS
    # What is read and written once, in bf16; no tile is counted twice off the chip.
    once = 2 * (12_544 * 27 + 27 * 32 + 12_544 * 32)
    assert sum(dict(report.bytes).get(level, 0) for level in ("hbm", "ddr")) == once
    assert report.time_ps > report.bound_ps > 0
    waterfall = dict(report.waterfall_ps)
    assert sum(waterfall.values()) == report.time_ps
    assert all(part >= 0 for part in waterfall.values())
    if machine not in ("unit", "lecture_sm"):
        # It is no product's time: bytes bound it, and what is above that has other names than work.
        assert report.bound in ("hbm_bytes", "ddr_bytes")
        assert dict(report.utilization)["matrix_flops"] < 0.05
        assert max(waterfall, key=lambda name: waterfall[name]) != "extra_work"
