"""What a notebook shows of a value says what it is, and not everything that is in it."""

from __future__ import annotations

import gpu_model
import rdu_model
from patterns.library import workload
from patterns.run import run_plan

LONGEST = 1000


def test_values_are_short_to_look_at() -> None:
    graph = workload("llama-3.1-8b")
    plans = (
        gpu_model.lower(graph, gpu_model.load_machine("h100_sxm")),
        rdu_model.lower(graph, rdu_model.load_machine("sn40l")),
    )
    for plan in plans:
        execution = run_plan(plan)
        shown = (graph, plan, execution, *graph.blocks, *execution.calls, execution.schedule)
        assert max(len(repr(value)) for value in shown) < LONGEST
        assert repr(plan).startswith(f"Plan(machine='{plan.machine}'")
        assert plan.mode in repr(execution)


def test_extents_and_counts_may_be_numbers() -> None:
    assert workload("llama-3.1-8b", overrides={"context": 8192}) == workload("llama-3.1-8b", context=8192)
