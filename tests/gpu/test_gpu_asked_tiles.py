"""Tiles that a user fixes cover the whole problem: no answer is that of a smaller one."""

from __future__ import annotations

import numpy as np
import pytest

from gpu_model import load_machine, lower
from patterns.count import graph_demand
from patterns.evaluate import evaluate
from patterns.library import workload
from patterns.numbers.execute import execute
from patterns.run import run_plan
from patterns.summarize import summarize


@pytest.mark.parametrize("rows", [7, 48, 100_000])
def test_rows_of_a_tile_that_divide_nothing_cover_every_row(rows: int) -> None:
    graph = workload("gemm", overrides={"m": 100, "n": 96, "k": 80})
    plan = lower(graph, load_machine("h100_sxm"), options={"tile_m": rows})
    report = summarize(run_plan(plan))
    issued = sum(dict(call.work).get("matrix_flops", 0) * call.count for call in plan.calls)
    random = np.random.default_rng(0)
    arrays = {"a": random.normal(size=(100, 80)), "b": random.normal(size=(80, 96))}
    assert np.allclose(execute(plan, arrays)["c"], evaluate(graph, arrays)["c"], rtol=1e-12)
    assert issued >= graph_demand(graph).matrix_flops == 2 * 100 * 96 * 80
    assert report.time_ps >= report.bound_ps
