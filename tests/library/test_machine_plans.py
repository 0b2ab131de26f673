"""Every way in which the machines run the ready-made graphs gives the graph's numbers."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

import gpu_model
import rdu_model
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.library import workload
from patterns.numbers.execute import execute
from patterns.plan import Plan

# Small, and nothing divides anything.
LLAMA = {
    "batch": "2", "context": "9", "layers": "2", "hidden": "12", "model_heads": "4", "model_kv_heads": "2",
    "head_dim": "6", "model_ffn": "10", "model_vocabulary": "14",
}  # fmt: skip
WORKLOADS: dict[str, tuple[str, str, dict[str, str]]] = {
    "softmax": ("softmax", "decode", {"rows": "5", "columns": "7"}),
    "stable_softmax": ("stable_softmax", "decode", {"rows": "5", "columns": "300"}),
    "gemm": ("gemm", "decode", {"m": "130", "n": "70", "k": "90"}),
    "gemm_bias_act": ("gemm_bias_act", "decode", {"m": "67", "n": "131", "k": "33"}),
    "rms_norm": ("rms_norm", "decode", {"rows": "5", "hidden": "70"}),
    "add_rms_norm": ("add_rms_norm", "decode", {"rows": "5", "hidden": "70"}),
    "swiglu_mlp": ("swiglu_mlp", "decode", {"tokens": "3", "hidden": "70", "ffn": "90"}),
    "attention": ("attention", "decode", {"context": "1030", "head_dim": "6", "kv_heads": "2", "group": "2"}),
    "decode": ("llama", "decode", LLAMA),
    "prefill": ("llama", "prefill", LLAMA),
}
GPU, RDU = ("h100_sxm", "unit"), ("sn40l", "unit")
RUNS = [(gpu_model, "policy", machine, mode) for machine in GPU for mode in ("pattern", "operator", "library")]
RUNS += [(rdu_model, "mode", machine, mode) for machine in RDU for mode in ("unfused", "operator", "fused", "looped")]


def check(plan: Plan, graph: Graph) -> None:
    arrays = random_arrays(graph, 1, plan.members)
    found, expected = execute(plan, arrays), evaluate(graph, arrays, plan.members)
    assert found.keys() == expected.keys()
    for name in expected:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize(
    ("model", "word", "machine", "mode"), RUNS, ids=[f"{r[0].__name__}-{r[2]}-{r[3]}" for r in RUNS]
)
def test_a_plan_gives_the_numbers_of_its_graph(
    model: ModuleType, word: str, machine: str, mode: str, name: str
) -> None:
    known, phase, overrides = WORKLOADS[name]
    graph = workload(known, phase, overrides=overrides)
    check(model.lower(graph, model.load_machine(machine), **{word: mode}), graph)


@pytest.mark.parametrize(
    ("model", "machine", "word", "mode"),
    [(gpu_model, "h100_sxm", "policy", "library"), (rdu_model, "sn40l", "mode", "looped")],
)
def test_members_give_the_numbers_of_their_graph(model: ModuleType, machine: str, word: str, mode: str) -> None:
    graph = workload("llama", members=2, overrides=LLAMA)
    check(model.lower(graph, model.load_machine(machine), members=2, **{word: mode}), graph)


@pytest.mark.parametrize("parts", [2, 3, 7])
def test_a_split_context_gives_the_numbers_of_its_graph(parts: int) -> None:
    name, phase, overrides = WORKLOADS["attention"]
    graph = workload(name, phase, overrides=overrides)
    plan = gpu_model.lower(graph, gpu_model.load_machine("h100_sxm"), policy="library", options={"splits": parts})
    assert any(call.combines for call in plan.calls)
    check(plan, graph)
