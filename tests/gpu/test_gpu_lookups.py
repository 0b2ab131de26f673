"""Products of rows that are looked up: where they are read from, how often, and that they stay what they are."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest

from gpu_model import load_machine, lower
from gpu_model.products.lookups import EACH, FOUND
from gpu_model.tiles.spaces import spaces_of
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.library import workload
from patterns.numbers.execute import execute
from patterns.plan import Call, Plan
from patterns.read import parse_graph

H100 = load_machine("h100_sxm")
# One matrix of an expert of Mixtral 8x7B.
MATRIX = 4096 * 14336
SMALL = {
    "context": "9",
    "layers": "2",
    "hidden": "12",
    "model_heads": "4",
    "model_kv_heads": "2",
    "head_dim": "6",
    "model_expert_ffn": "10",
    "model_vocabulary": "14",
    "experts": "4",
}


def kernel_of(plan: Plan, node: str) -> Call:
    return next(call for call in plan.calls if node in call.nodes)


def hbm_bytes(call: Call) -> int:
    return dict(call.traffic)["hbm"]


@pytest.mark.parametrize(("batch", "experts"), [(1, 2.0), (3, 4.625), (8, 7.19909668)])
def test_a_grouped_product_reads_each_expert_once_and_computes_the_chosen(batch: int, experts: float) -> None:
    made = workload("mixtral", batch=batch, context=512, members=2)
    plan = lower(made, H100, policy="library")
    both, down = kernel_of(plan, "gate"), kernel_of(plan, "each_down")
    assert both.nodes == ("gate_chosen", "gate", "up_chosen", "up")
    assert down.nodes == ("down_chosen", "each_down")
    # Half of each matrix is this member's; activations are a fraction of a percent.
    assert hbm_bytes(both) == pytest.approx(2 * experts * MATRIX, rel=2e-3)
    assert hbm_bytes(down) == pytest.approx(experts * MATRIX, rel=2e-3)


def test_a_prefill_computes_as_many_rows_of_every_expert_as_tokens_chose_it() -> None:
    made = workload("mixtral", phase="prefill", context=4096, members=4)
    plan = lower(made, H100, policy="library")
    # 4096 tokens with 2 experts each: 1024 rows for each of 8 experts, which are whole tiles.
    assert dict(kernel_of(plan, "gate").work)["matrix_flops"] == 2 * 2 * 4096 * 2 * MATRIX // 4
    assert dict(kernel_of(plan, "each_down").work)["matrix_flops"] == 2 * 4096 * 2 * MATRIX // 4


def test_below_library_rows_are_copied_first() -> None:
    """A copy of every lookup is written and read again; the table's rows come from memory once."""
    made = workload("mixtral", batch=8, context=512, members=4)
    plan = lower(made, H100, policy="operator")
    copy, product = kernel_of(plan, "gate_chosen"), kernel_of(plan, "gate")
    assert copy.nodes == ("gate_chosen",)
    assert hbm_bytes(copy) == pytest.approx((7.19909668 + 16) * MATRIX // 4 * 2, rel=1e-3)
    assert hbm_bytes(product) == pytest.approx(16 * MATRIX // 4 * 2, rel=1e-3)


@pytest.mark.parametrize("chosen", [1, 3])
@pytest.mark.parametrize("policy", ["operator", "library", "epilogue", "megakernel"])
def test_lowered_it_gives_the_same_numbers(policy: str, chosen: int) -> None:
    """Three tokens and four experts: with three each, experts are chosen again."""
    made = workload("mixtral", batch=3, overrides={**SMALL, "chosen_experts": chosen})
    arrays = random_arrays(made, 0)
    expected = evaluate(made, arrays)
    for name, array in execute(lower(made, H100, policy=policy), arrays).items():
        np.testing.assert_allclose(array, expected[name], rtol=1e-8, atol=1e-10)


def looked_up(nodes: str, more: str = "") -> Graph:
    return parse_graph(f"""
name: looked_up
extents: {{tokens: 5, slots: 2, rows: 7, wide: 64, deep: 48}}
tensors:
  at: {{dims: [tokens, slots], dtype: int32, role: input}}
  x: {{dims: [tokens, deep], dtype: bf16, role: input}}
  table: {{dims: [rows, deep, wide], dtype: bf16, role: weight}}
{more}nodes:
  own: {{kind: gather, reads: [table, at], along: rows, distinct: uniform}}
{nodes}
""")


ONE = "  y: {kind: mm, reads: [x, own], over: [deep]}"
TWICE = f"{ONE}\n  z: {{kind: map, fn: exp, reads: [own]}}"
SUMMED = "  y: {kind: mm, reads: [x, own], over: [deep, tokens]}"


def test_lookups_of_a_row_share_its_product() -> None:
    made = looked_up(ONE)
    (space,) = spaces_of(made, made.blocks[0].nodes, frozenset({"own"}))
    # 7 (1 - (5/7) ** 5) = 5.698 rows: of 6 products each has up to ceil(10 / 6) rows.
    assert space.matrix is not None
    assert (space.matrix.batch, space.matrix.rows, space.matrix.columns) == ((FOUND,), (EACH,), ("wide",))
    assert (space.sizes[FOUND], space.sizes[EACH]) == (6, 2)
    found = 7 * (1 - (5 / 7) ** 5)
    read = {access.tensor: access.once_bytes(space.sizes) for access in space.reads}
    assert read == {"table": 2 * ceil(found * 48 * 64 - 0.5), "x": 2 * 5 * 48, "at": 4 * 10}
    assert [access.once_bytes(space.sizes) for access in space.writes] == [2 * 5 * 2 * 64]


@pytest.mark.parametrize(("nodes", "outside"), [(TWICE, ()), (ONE, ("own",)), (SUMMED, ())])
def test_rows_that_others_need_or_that_are_summed_over_are_taken_as_written(
    nodes: str, outside: tuple[str, ...]
) -> None:
    made = looked_up(nodes)
    inside = frozenset({"own"}) - set(outside)
    for space in spaces_of(made, made.blocks[0].nodes, inside):
        assert FOUND not in space.sizes
    plan = lower(made, H100, policy="library")
    arrays = random_arrays(made, 0)
    expected = evaluate(made, arrays)
    for name, array in execute(plan, arrays).items():
        np.testing.assert_allclose(array, expected[name], rtol=1e-9)


MADE_TABLE = """
name: made_table
extents: {tokens: 64, slots: 2, rows: 8, wide: 256, deep: 128}
tensors:
  at: {dims: [tokens, slots], dtype: int32, role: input}
  x: {dims: [tokens, deep], dtype: bf16, role: input}
  raw: {dims: [rows, deep, wide], dtype: bf16, role: weight}
nodes:
  table: {kind: map, fn: tanh, reads: [raw]}
  own: {kind: gather, reads: [table, at], along: rows, distinct: uniform}
  y: {kind: mm, reads: [x, own], over: [deep]}
"""


def test_a_table_that_a_graph_makes_has_its_own_kernel() -> None:
    plan = lower(parse_graph(MADE_TABLE), H100, policy="library")
    assert [call.nodes for call in plan.calls] == [("table",), ("own", "y")]


NARROW = """
name: narrow
extents: {tokens: 8, slots: 2, experts: 8, ffn: 14336, within: 128, groups: 32}
tensors:
  at: {dims: [tokens, slots], dtype: int32, role: input}
  x: {dims: [tokens, groups, within], dtype: bf16, role: input}
  w: {dims: [experts, ffn, groups, within], dtype: int4, role: weight}
  s: {dims: [experts, ffn, groups], dtype: fp16, role: weight}
nodes:
  own: {kind: gather, reads: [w, at], along: experts, distinct: uniform}
  own_scales: {kind: gather, reads: [s, at], along: experts, distinct: uniform}
  numbers: {kind: map, fn: cast, reads: [own], dtype: bf16}
  scaled: {kind: zip, fn: mul, reads: [numbers, own_scales]}
  y: {kind: mm, reads: [x, scaled], over: [groups, within]}
"""


def test_narrow_experts_are_found_in_place_and_widened_on_their_way() -> None:
    (call,) = lower(parse_graph(NARROW), H100, policy="library").calls
    found = 8 * (1 - 0.75**8)
    weights, scales = MATRIX / 2, MATRIX / 128 * 2
    assert hbm_bytes(call) == pytest.approx(found * (weights + scales) + 8 * 4096 * 2 + 16 * 14336 * 2, rel=1e-4)
    small = parse_graph(NARROW.replace("14336", "10").replace("within: 128, groups: 32", "within: 4, groups: 3"))
    arrays = random_arrays(small, 0)
    for policy in ("library", "auto"):
        found_y = execute(lower(small, H100, policy=policy), arrays)["y"]
        np.testing.assert_allclose(found_y, evaluate(small, arrays)["y"], rtol=1e-8)
