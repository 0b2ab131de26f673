"""Recurrences on a GPU: one op after another, or parts side by side; steps that hand the state on; rows on many SMs."""

from __future__ import annotations

from math import ceil, log2

import pytest

from gpu_model import load_machine, lower
from patterns.graph import Graph
from patterns.plan import Call
from patterns.read import parse_graph
from patterns.run import run_plan

H100 = load_machine("h100_sxm")


def scan(rows: int, length: int, fn: str = "linear") -> Graph:
    reads = "[a, b]" if fn == "linear" else "[b]"
    dims = "dims: [rows, length], dtype: fp32"
    return parse_graph(
        f"name: scan\nextents: {{rows: {rows}, length: {length}}}\n"
        f"tensors:\n  a: {{{dims}, role: input}}\n  b: {{{dims}, role: input}}\n  y: {{{dims}, role: output}}\n"
        f"nodes:\n  other: {{kind: map, fn: neg, reads: [a]}}\n"
        f"  y: {{kind: scan, fn: {fn}, reads: {reads}, along: length}}\n",
        "scan.yaml",
    )


def last(graph: Graph, overrides: dict[str, str] | None = None) -> tuple[Call, int]:
    """The scan's kernel, and the cycles that it takes."""
    plan = lower(graph, load_machine("h100_sxm", overrides), policy="pattern")
    return plan.calls[-1], run_plan(plan).calls[-1].timeline.total_cycles


def test_where_no_op_waits_elements_follow_one_another() -> None:
    """One op an element, the least there is, where a result is there at once."""
    call, _ = last(scan(4, 4096), {"dependent_op_cycles": "0 cycles"})
    assert dict(call.work)["vector_ops"] == 4 * 4096


@pytest.mark.parametrize(("fn", "ops"), [("sum", 2), ("linear", 4)])
def test_one_row_is_taken_in_parts_side_by_side(fn: str, ops: int) -> None:
    """Every element is put together with its part twice: one op of a sum, two of a linear recurrence."""
    call, cycles = last(scan(1, 65_536, fn))
    assert dict(call.work)["vector_ops"] == ops * 65_536
    assert cycles < 65_536 * H100.dependent_op_cycles


def test_no_step_is_faster_than_its_ops_in_a_row() -> None:
    """Ops of 1,000 cycles: 32 elements in a row, or 2 log2(32) with parts side by side, whichever the steps are."""
    call, cycles = last(scan(1, 32), {"dependent_op_cycles": "1000 cycles"})
    assert not call.tiling.loops
    assert cycles > 2 * ceil(log2(32)) * 1000
    _, fast = last(scan(1, 32), {"dependent_op_cycles": "1 cycles"})
    assert cycles - fast > 9_900


def test_steps_are_innermost_and_rows_have_tiles_of_their_own() -> None:
    call, _ = last(scan(64, 128_256, "sum"))
    assert [loop.dim for loop in call.tiling.loops] == ["rows", "length"]
    assert call.tiling.loops[0].extent == 1
    assert dict(call.traffic)["hbm"] == 2 * 64 * 128_256 * 4
