"""What policies decide by structure: once for all contexts, batches and machines on which questions have the same
answers, and the same as with the whole graph at hand."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

import pytest

from gpu_model import load_machine
from gpu_model.asked import Ask
from gpu_model.joining.decisions import Answers, Decisions, Facts
from gpu_model.machine import Machine
from gpu_model.policy import Policy, kernels, policy_named, policy_names
from patterns.graph import Graph
from patterns.library import workload
from patterns.structure import structure_of

# Extents with which kernels fit and with which they do not.
CASES = {
    "softmax": [{"columns": columns} for columns in (64, 100_000, 4096, 10_000_000)],
    "gqa_decode": [{"batch": 1, "context": 17}, {"batch": 64, "context": 9000}, {"batch": 1, "context": 4096}],
    "gemm_bias_act": [{}],
    "gemm_fp8_blocks": [{}],
    "mamba": [{}],
}


def graphs() -> Iterator[Graph]:
    for name, every in CASES.items():
        yield from (workload(name, overrides=extents) for extents in every)


@pytest.mark.parametrize("policy", [p for p in policy_names() if getattr(policy_named(p), "BY_STRUCTURE", False)])
def test_decisions_are_those_that_a_policy_makes_of_the_whole_graph(policy: str) -> None:
    how = policy_named(policy)
    whole = cast(Policy, SimpleNamespace(RANK=how.RANK, fuse=how.fuse))
    for machine in map(load_machine, ("h100_sxm", "a100_sxm", "b200")):
        ask = Ask(machine)
        for graph in graphs():
            for block in graph.blocks:
                assert kernels(graph, block, ask, how) == kernels(graph, block, ask, whole)


def test_refusals_tell_of_the_extents_at_hand() -> None:
    reasons = set()
    for columns in (10_000_000, 20_000_000, 10_000_000):
        graph = workload("softmax", overrides={"columns": columns})
        _, refused = kernels(graph, graph.blocks[0], Ask(load_machine("h100_sxm")), policy_named("library"))
        reasons |= {refusal.reason for refusal in refused}
    assert sum("holds 232,448" in reason for reason in reasons) == 2


def batch_of(graph: Graph, machine: Machine, dim: str) -> int:
    return graph.sizes[dim]


def small(graph: Graph, machine: Machine, dim: str, most: int) -> bool:
    return graph.sizes[dim] <= most


def test_a_decision_is_made_again_only_where_a_question_has_another_answer() -> None:
    made = []

    def decide(answers: Answers) -> str:
        made.append(1)
        if answers(small, "batch", 8):
            return "small"
        return f"large {answers(batch_of, 'batch')}"

    decisions, machine = Decisions(decide), load_machine("h100_sxm")
    found = []
    for batch, context in ((1, 64), (8, 128), (16, 64), (4, 64), (16, 256), (32, 64)):
        graph = workload("gqa_decode", overrides={"batch": batch, "context": context})
        found.append(decisions.at(Facts(graph, machine)))
    assert found == ["small", "small", "large 16", "small", "large 16", "large 32"]
    assert len(made) == 3


def test_graphs_of_all_extents_have_the_same_structure() -> None:
    first, other = (workload("gqa_decode", overrides={"batch": batch}) for batch in (1, 3))
    assert first != other
    assert structure_of(first) == structure_of(other)
    assert not structure_of(first).sizes
