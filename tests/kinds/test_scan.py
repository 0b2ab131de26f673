"""Recurrences: their numbers, their shapes, their tiles in order, and the state that they leave for the next run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patterns.carried import ways
from patterns.count import compulsory, graph_demand
from patterns.errors import SpecError
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.numbers.execute import execute
from patterns.numbers.tiles import PlanError
from patterns.plan import Nest, Tiling
from patterns.read import parse_graph
from patterns.write import write_graph
from tests.kinds.graphs import graph
from tests.kinds.plans import call, plan, tiles

LINEAR = """
name: recurrence
extents: {batch: 2, seq: 7, inner: 3, n: 4}
tensors:
  a: {dims: [batch, seq, inner, n], dtype: fp32, role: input}
  x: {dims: [batch, seq, inner], dtype: bf16, role: input}
  in: {dims: [batch, seq, n], dtype: bf16, role: input}
  out: {dims: [batch, seq, n], dtype: bf16, role: input}
  kept: {dims: [batch, inner, n], dtype: fp32, role: state}
  b: {dims: [batch, seq, inner, n], dtype: fp32, role: intermediate}
  y: {dims: [batch, seq, inner], dtype: fp32, role: output}
nodes:
  b: {kind: zip, fn: mul, reads: [x, in]}
  h: {kind: scan, fn: linear, reads: [a, b, kept], along: seq}
  read: {kind: zip, fn: mul, reads: [h, out]}
  y: {kind: reduce, fn: sum, reads: [read], over: [n]}
  end: {kind: reduce, fn: last, reads: [h], over: [seq]}
  left: {kind: store, reads: [kept, end]}
"""


def recurrence() -> Graph:
    return parse_graph(LINEAR, "recurrence.yaml")


def by_hand(arrays: dict[str, Any]) -> tuple[Any, Any]:
    """The outputs and the last state, element by element."""
    state, outputs = arrays["kept"].copy(), []
    for t in range(arrays["x"].shape[1]):
        state = arrays["a"][:, t] * state + arrays["x"][:, t, :, None] * arrays["in"][:, t, None, :]
        outputs.append((state * arrays["out"][:, t, None, :]).sum(axis=-1))
    return np.stack(outputs, axis=1), state


@pytest.mark.parametrize(
    ("fn", "meaning"),
    [("sum", np.cumsum), ("mul", np.cumprod), ("max", lambda x, axis: np.maximum.accumulate(x, axis))],
)
def test_cumulative_functions_are_those_of_numpy(fn: str, meaning: Any) -> None:
    made = graph(f"z: {{kind: scan, fn: {fn}, reads: [batched], along: m}}")
    arrays = random_arrays(made, 1)
    np.testing.assert_allclose(evaluate(made, arrays)["z"], meaning(arrays["batched"], axis=1))


def test_an_exclusive_scan_has_the_state_before_each_element() -> None:
    made = graph("z: {kind: scan, fn: sum, reads: [x], along: k, exclusive: true}")
    x = random_arrays(made, 1)["x"]
    np.testing.assert_allclose(evaluate(made, random_arrays(made, 1))["z"], np.cumsum(x, axis=1) - x, atol=1e-12)
    assert parse_graph(write_graph(made), "again.yaml") == made


def test_a_linear_recurrence_goes_on_where_the_run_before_it_ended() -> None:
    made = recurrence()
    arrays = random_arrays(made, 3)
    found = evaluate(made, arrays)
    y, state = by_hand(arrays)
    np.testing.assert_allclose(found["y"], y)
    np.testing.assert_allclose(found["kept"], state)
    again = evaluate(made, arrays | {"kept": state})
    np.testing.assert_allclose(again["y"], by_hand(arrays | {"kept": state})[0])


def test_work_and_bytes_are_those_of_the_rule() -> None:
    """Of an element [batch, seq, inner, n]: b 1 op, the recurrence 1, the output 2. The state passes each way once."""
    made = recurrence()
    assert graph_demand(made).vector_ops == 4 * 2 * 7 * 3 * 4
    found = compulsory(made)
    assert (found.state_bytes, found.state_written_bytes) == (2 * 3 * 4 * 4, 2 * 3 * 4 * 4)
    assert found.output_bytes == 2 * 7 * 3 * 4


@pytest.mark.parametrize(("fn", "dtype"), [("sum", "int32"), ("mul", "int32"), ("max", "int8")])
def test_states_of_few_bits_outgrow_their_elements(fn: str, dtype: str) -> None:
    made = graph(
        f"z: {{kind: scan, fn: {fn}, reads: [flags], along: m}}", "flags: {dims: [m], dtype: int8, role: input}"
    )
    assert made.tensor_named["z"].dtype == dtype


def test_ops_in_a_row_are_counted_exactly() -> None:
    """Side by side, two for each doubling: one element more than a power of two is a doubling more."""
    made = graph("z: {kind: scan, fn: sum, reads: [row], along: k}")
    node = made.blocks[0].nodes[0]
    assert [ways(made, node, {"k": 2**52 + more})[1].in_a_row for more in (-1, 0, 1)] == [104, 104, 106]


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 8), st.integers(1, 4), st.integers(1, 2), st.booleans())
def test_tiles_come_in_order_and_hand_the_state_on(seq: int, inner: int, batch: int, nested: bool) -> None:
    made = recurrence()
    names = "b h read y end left"
    loops = tiles(batch=batch, inner=inner, seq=seq)
    tiling = Tiling(loops)
    if nested:
        tiling = Tiling(loops[:2], nests=(Nest(("b", "h", "read", "y", "end"), Tiling(loops[2:])),))
    arrays = random_arrays(made, 1)
    expected = evaluate(made, arrays)
    found = execute(plan(made, call(names, tiling, block="recurrence")), arrays)
    for name in expected:
        np.testing.assert_allclose(found[name], expected[name], atol=1e-12, err_msg=name)


@pytest.mark.parametrize(
    ("tiling", "what"),
    [
        (Tiling(tiles(seq=2, inner=1)), "h carries a state along 'seq' around the loop over 'inner'"),
        (Tiling(splits=(("seq", 2),)), "h needs a, b, kept of all parts of 'seq' at once"),
    ],
)
def test_tiles_and_parts_that_would_lose_the_state_are_refused(tiling: Tiling, what: str) -> None:
    made = recurrence()
    with pytest.raises(PlanError, match=what):
        execute(plan(made, call("b h read y end left", tiling, block="recurrence")), random_arrays(made, 1))


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ("{kind: scan, fn: sum, reads: [x], along: n}", "has no dim 'n' to go along"),
        ("{kind: scan, fn: sum, reads: [x, y, row], along: k}", "reads 3 tensors; a scan with fn sum reads"),
        ("{kind: scan, fn: linear, reads: [x], along: k}", "reads a and b of y = a y"),
        ("{kind: scan, fn: sum, reads: [x, row], along: k}", "the state before the first element is one of it"),
        ("{kind: scan, fn: sum, reads: [row, index], along: k}", "has .picks., which nothing that is scanned has"),
        ("{kind: scan, fn: max, reads: [x], along: k, exclusive: true}", "no first element unless"),
        ("{kind: scan, fn: linear, reads: [x, y], along: k}", "no operand has all of .m, k, n.: declare z"),
        ("{kind: scan, fn: fold, reads: [x], along: k}", "sum"),
        ("{kind: store, reads: [x, x]}", "x is declared as input; a store writes over a state"),
        ("{kind: store, reads: [cache, lines]}", "must have the dims of cache .m, rows, h."),
    ],
)
def test_mistakes_are_told(node: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        graph(f"z: {node}")
