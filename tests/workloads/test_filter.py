"""Filter: positions of what is kept, in order; counted as expected, with room for the worst."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_model import load_machine as load_gpu
from gpu_model import lower as lower_on_gpu
from patterns.count import compulsory, graph_demand
from patterns.counting.room import between_bytes, held_bytes
from patterns.errors import SpecError, UserError
from patterns.evaluate import evaluate
from patterns.library import workload
from patterns.numbers.execute import execute
from patterns.read import parse_graph
from patterns.run import run_plan
from patterns.summarize import summarize
from rdu_model import load_machine as load_rdu
from rdu_model import lower as lower_on_rdu

TEXT = """
name: kept
extents: {{groups: 2, rows: 5, some: {some}}}
tensors: {{keep: {{dims: [groups, rows], dtype: int8, role: input}}}}
nodes: {{where: {{kind: filter, reads: [keep], along: rows, to: some{more}}}}}
"""


def kept(flags: Any, some: int) -> Any:
    return evaluate(parse_graph(TEXT.format(some=some, more="")), {"keep": np.array(flags)})["where"]


def test_positions_come_in_order_and_what_nothing_fills_is_nowhere() -> None:
    assert kept([[0, 1, 0, 1, 1], [0, 0, 0, 0, 1]], 3).tolist() == [[1, 3, 4], [4, -1, -1]]


def test_more_than_there_is_room_for_is_refused_with_the_extent_that_would_do() -> None:
    with pytest.raises(UserError, match="node 'where' keeps 3 elements, and 'some' has 2: set some=3"):
        kept([[0, 1, 0, 1, 1], [0, 0, 0, 0, 1]], 2)


@pytest.mark.parametrize(
    ("some", "more", "message"),
    [
        (6, "", "6 elements .'some'. are expected and at most 5 kept; 'rows' has 5"),
        (3, ", worst: 2", "3 elements .'some'. are expected and at most 2 kept"),
        (3, ", worst: 9", "at most 9 kept; 'rows' has 5"),
    ],
)
def test_more_is_never_kept_than_there_is(some: int, more: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        parse_graph(TEXT.format(some=some, more=more))


def columns(rows: int, seed: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    return {
        "shipped": random.integers(8500, 9400, rows),
        "discount": random.uniform(0.03, 0.09, rows),
        "quantity": random.uniform(1, 50, rows),
        "price": random.uniform(1, 100, rows),
    }


@settings(max_examples=8, deadline=None)
@given(rows=st.integers(2, 300), seed=st.integers(0, 1000))
def test_every_machine_adds_up_the_rows_that_are_kept(rows: int, seed: int) -> None:
    graph = workload("filter_sum", overrides={"rows": rows, "kept": rows})
    arrays = columns(rows, seed)
    keep = (arrays["shipped"] >= 8766) & (arrays["shipped"] < 9131) & (arrays["quantity"] < 24)
    keep &= (arrays["discount"] >= 0.05) & (arrays["discount"] < 0.07)
    expected = (arrays["price"] * arrays["discount"])[keep].sum()
    assert evaluate(graph, arrays)["revenue"] == pytest.approx(expected)
    for policy in ("operator", "auto"):
        plan = lower_on_gpu(graph, load_gpu("h100_sxm"), policy=policy)
        assert execute(plan, arrays)["revenue"] == pytest.approx(expected)
    for mode in ("operator", "fused"):
        plan = lower_on_rdu(graph, load_rdu("sn40l"), mode=mode)
        assert execute(plan, arrays)["revenue"] == pytest.approx(expected)


def test_a_filter_is_counted_with_what_is_expected() -> None:
    graph = workload("filter_sum")
    rows, expected = 6_001_215, 6_001_215 // 50
    # Flags: 9 ops a row; positions: 2; a product and a sum for what is kept.
    assert graph_demand(graph).vector_ops == 11 * rows + 2 * expected
    # Discounts are read whole for their condition; of prices only the rows that are kept.
    assert compulsory(graph).input_bytes == 4 * (3 * rows + expected)


def test_memory_has_room_for_the_worst() -> None:
    text = """
name: kept
extents: {rows: 1000, some: 10}
tensors: {keep: {dims: [rows], dtype: int8, role: input}, at: {dims: [some], dtype: int32, role: output}}
nodes: {at: {kind: filter, reads: [keep], along: rows, to: some, worst: 400}}
"""
    assert held_bytes(parse_graph(text)) == 1000 + 4 * 400
    graph = workload("filter_sum")
    calls = lower_on_gpu(graph, load_gpu("h100_sxm"), policy="pattern").calls
    handed = {call.nodes: amount for call, amount in between_bytes(graph, calls)}
    # The positions of all rows, and their prices.
    assert handed["prices",] == 2 * 4 * graph.sizes["rows"]


def test_one_long_row_is_reduced_by_all_sms_together() -> None:
    graph, machine = workload("filter_sum"), load_gpu("h100_sxm")
    plan = lower_on_gpu(graph, machine, policy="auto")
    bound_s = compulsory(graph).total_bytes / machine.hbm_bytes_per_s
    assert bound_s < float(summarize(run_plan(plan)).time_s) < 2 * bound_s
