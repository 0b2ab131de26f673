"""Rows written into a state cost the same however long it is: kernels that only do that are laid out once for all."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_model import load_machine, lower
from gpu_model.asked import Ask
from gpu_model.laid_out import lay_out
from gpu_model.policy import Kernels, kernels, policy_named
from patterns.errors import UserError
from patterns.graph import Graph
from patterns.library import workload
from patterns.plan import Plan
from patterns.read import parse_graph
from patterns.run import run_plan
from patterns.seen import part_of, part_with_rows

H100 = load_machine("h100_sxm")


def cache(length: int, fn: str = "set", rows: int = 2) -> Graph:
    """Rows go into a state at places of an index, others into another one of its length, and one is read."""
    return parse_graph(
        f"""
name: cache
extents: {{n: {length}, rows: {rows}, more: {rows + 3}, width: 64}}
tensors:
  first: {{dims: [n, width], dtype: fp32, role: state}}
  second: {{dims: [n, width], dtype: fp32, role: state}}
  at: {{dims: [rows], dtype: int32, role: input}}
  elsewhere: {{dims: [more], dtype: int32, role: input}}
  x: {{dims: [rows, width], dtype: fp32, role: input}}
  y: {{dims: [more, width], dtype: fp32, role: input}}
blocks:
  step:
    nodes:
      one: {{kind: scatter, fn: {fn}, reads: [first, at, x], along: n}}
      other: {{kind: scatter, fn: set, reads: [second, elsewhere, y], along: n}}
      read: {{kind: map, fn: neg, reads: [one]}}
""",
        "cache.yaml",
        {},
    )


def room(graph: Graph, *names: str) -> int:
    nodes = [node for _, node in graph.nodes() if node.name in names]
    return part_with_rows(graph, nodes).sizes["n"]


def test_a_state_in_which_rows_are_written_is_as_long_as_they_need() -> None:
    assert room(cache(1000), "one") == room(cache(5000), "one") == 2
    assert room(cache(1000), "other") == room(cache(1000), "one", "other") == 5
    # Rows that there is no room for are written over each other: fewer are touched.
    assert room(cache(3), "other") == 3
    assert room(cache(3), "one", "other") == 3


def test_a_state_that_is_read_is_as_long_as_it_is() -> None:
    assert room(cache(1000), "read") == room(cache(1000), "one", "read") == 1000
    assert room(cache(1000, "add"), "one") == room(cache(1000, "add"), "one", "other") == 1000


def test_kernels_that_write_rows_are_one_for_all_lengths() -> None:
    policy, ask = policy_named("library"), Ask(H100)

    def laid_out(context: int) -> dict[tuple[str, ...], object]:
        graph = workload("llama", overrides={"batch": "2", "context": str(context)})
        block = graph.blocks[1]
        groups: Kernels = kernels(graph, block, ask, policy)
        return {group.names: lay_out(graph, block, group, ask) for group in groups[0]}

    short, long = laid_out(512), laid_out(640)
    differ = [names for names in short if short[names] is not long[names]]
    assert len(differ) == 1
    assert "scores" in differ[0]


def outcome(name: str, overrides: dict[str, str], policy: str) -> Any:
    try:
        plan = lower(workload(name, overrides=overrides), H100, policy=policy)
    except UserError as error:
        return str(error)
    return numbers(plan)


def numbers(plan: Plan) -> object:
    calls = [(c.name, c.tiling, c.program, c.work, c.traffic, c.schedule_reason, c.events) for c in plan.calls]
    return calls, plan.refusals, plan.warnings, run_plan(plan, spans=False).schedule.total_cycles


@pytest.mark.parametrize("policy", ["pattern", "operator", "epilogue", "auto"])
@pytest.mark.parametrize(
    ("name", "overrides"),
    [
        ("llama", {"context": "700", "batch": "3"}),
        ("kv_cache_int8", {}),
        ("mla_decode", {"context": "300"}),
        ("mixtral", {"context": "130"}),
    ],
)
def test_what_is_not_seen_of_a_state_changes_nothing(
    name: str, overrides: dict[str, str], policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = outcome(name, overrides, policy)
    for module in ("laid_out", "joining.questions", "l2_recent"):
        monkeypatch.setattr(f"gpu_model.{module}.part_with_rows", part_of)
    assert outcome(name, overrides, policy) == found
