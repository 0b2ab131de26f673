"""Rows that are looked up on the RDU: streamed once for all lookups of a tile, read in place by contractions."""

from __future__ import annotations

import numpy as np
import pytest

from patterns.evaluate import evaluate, random_arrays
from patterns.library import workload
from patterns.numbers.execute import execute
from patterns.plan import Plan
from patterns.read import parse_graph
from rdu_model import Choices, compile_graph, load_machine, lower
from rdu_model.ask import ask_all
from rdu_model.pipe import Reorder, placed
from rdu_model.price import grid

SN40L = load_machine("sn40l")
MATRIX = 4096 * 14336
EXPERTS = ("w_gate", "w_up", "w_down")


def moved(plan: Plan, tensor: str) -> int:
    return sum(row.num_bytes for row in plan.moved if row.tensor == tensor)


@pytest.mark.parametrize(("batch", "experts"), [(1, 2.0), (8, 7.19909668)])
def test_experts_that_are_found_are_streamed_once(batch: int, experts: float) -> None:
    made = workload("mixtral", batch=batch, context=4096, members=2, overrides={"layers": 1})
    plan = lower(made, SN40L, mode="fused", members=2)
    for name in EXPERTS:
        assert moved(plan, name) == pytest.approx(experts * MATRIX, rel=1e-5)  # each tile is rounded
    # The whole layer is one call: tokens are not taken one by one for want of room.
    assert [call.block for call in plan.calls] == ["embedding", "decoder", "head"]


def test_a_prefill_computes_the_chosen_experts_only() -> None:
    """4096 tokens with 2 experts of 3 matrices each; the attention has other sections or is little."""
    made = workload("mixtral", phase="prefill", context=4096, members=2, overrides={"layers": 1})
    nodes = ask_all(made, made.block_named["decoder"].nodes)
    work = grid(nodes["gate"], made.sizes, SN40L)
    # 8 experts, 1024 rows of each in blocks of so many lanes, columns in blocks of so many stages.
    rows, columns = -(-1024 // SN40L.pcu_lanes), -(-7168 // SN40L.pcu_stages)
    assert work.blocks == (8, rows, columns)


@pytest.mark.parametrize("mode", ["unfused", "operator", "looped"])
def test_lowered_it_gives_the_same_numbers(mode: str) -> None:
    few = {"context": 9, "layers": 2, "hidden": 12, "model_heads": 4, "model_kv_heads": 2, "head_dim": 6}
    few |= {"model_expert_ffn": 10, "model_vocabulary": 14, "experts": 4, "chosen_experts": 3}
    made = workload("mixtral", batch=3, overrides=few)
    arrays = random_arrays(made, 0)
    expected = evaluate(made, arrays)
    for name, array in execute(lower(made, SN40L, mode=mode), arrays).items():
        np.testing.assert_allclose(array, expected[name], rtol=1e-8, atol=1e-10)


LOOKED_UP = """
name: looked_up
extents: {tokens: 6, slots: 2, rows: 4, wide: 64, deep: 48}
tensors:
  at: {dims: [tokens, slots], dtype: int32, role: input}
  x: {dims: [tokens, deep], dtype: bf16, role: input}
  table: {dims: [rows, deep, wide], dtype: bf16, role: weight}
nodes:
  own: {kind: gather, reads: [table, at], along: rows, distinct: 3}
  y: {kind: mm, reads: [x, own], over: [deep]}
"""


def test_lookups_of_a_row_are_rows_of_its_contraction() -> None:
    made = parse_graph(LOOKED_UP)
    asked = ask_all(made, made.blocks[0].nodes)
    assert (asked["y"].grouped, asked["y"].rows, asked["y"].columns) == ((), (), ("wide",))
    # Three rows are found; each of 12 lookups has a row of x, and reads what is found once.
    assert asked["y"].touched(made.sizes) == ((2 * 6 * 48, 2 * 3 * 48 * 64), 2 * 12 * 64)
    assert asked["own"].touched(made.sizes)[1] == 2 * 3 * 48 * 64
    half = {**made.sizes, "tokens": 3}
    assert asked["own"].touched(half)[0][0] == 2 * 3 * 48 * 64 // 2
    assert grid(asked["y"], made.sizes, SN40L).blocks[0] == 3


def test_the_address_takes_no_unit_and_waits_with_its_stream() -> None:
    (one,) = compile_graph(parse_graph(LOOKED_UP), SN40L, Choices(mode="fused")).sections
    flow = one.section.flow
    assert "own" not in flow.leaves
    assert flow.roots["own"] == "load table"
    assert "own" not in one.section.groups
    assert any(leaf.leaf == Reorder("own", "load table", ("load at",)) for leaf in placed(flow.metapipe.body))


HANDED_ON = """
name: handed_on
extents: {b: 7, p: 5, q: 5, rows: 9}
tensors:
  table: {dims: [rows], dtype: bf16, role: input}
  at: {dims: [b, q], dtype: int32, role: input}
  found: {dims: [b, q], dtype: bf16, role: output}
  next: {dims: [rows], dtype: bf16, role: output}
blocks:
  step:
    count: 3
    carried: {table: next}
    tensors:
      w: {dims: [b, p], dtype: bf16, role: weight}
      y: {dims: [p, q], dtype: bf16, role: output}
    nodes:
      found: {kind: gather, reads: [table, at], along: rows}
      y: {kind: mm, reads: [found, w], over: [b]}
      next: {kind: map, fn: tanh, reads: [table]}
"""


def test_a_table_that_iterations_hand_on_is_loaded_once_and_waits_for_no_index() -> None:
    made = parse_graph(HANDED_ON)
    arrays = random_arrays(made, 0)
    plan = lower(made, SN40L, mode="looped")
    assert [call.iterations for call in plan.calls] == [3]
    expected = evaluate(made, arrays)
    for name, array in execute(plan, arrays).items():
        np.testing.assert_allclose(array, expected[name], rtol=1e-9)
