"""Shape rules: what each kind makes of names, and what it refuses."""

from __future__ import annotations

import pytest

from patterns.errors import SpecError
from patterns.read import parse_graph
from tests.kinds.graphs import graph

MADE = [
    ("{kind: map, fn: exp, reads: [x]}", ("m", "k"), "bf16"),
    ("{kind: map, fn: cast, reads: [x], dtype: fp32}", ("m", "k"), "fp32"),
    ("{kind: zip, fn: mul, reads: [x, x]}", ("m", "k"), "bf16"),
    ("{kind: zip, fn: mul, reads: [row, x]}", ("m", "k"), "fp32"),
    ("{kind: zip, fn: causal, reads: [x, x, row]}", ("m", "k"), "fp32"),
    ("{kind: reduce, fn: sum, reads: [batched], over: [m]}", ("b", "k"), "bf16"),
    ("{kind: reduce, fn: mean, reads: [batched], over: [k, b]}", ("m",), "bf16"),
    ("{kind: reduce, fn: argmax, reads: [x], over: [k]}", ("m",), "int32"),
    ("{kind: reduce, fn: max, reads: [x], over: [k, m]}", (), "bf16"),
    ("{kind: mm, reads: [x, y]}", ("m", "n"), "bf16"),
    ("{kind: mm, reads: [y, x]}", ("n", "m"), "bf16"),
    ("{kind: mm, reads: [batched, weight], over: [k]}", ("b", "m", "n"), "bf16"),
    ("{kind: mm, reads: [batched, weight], over: [k, b]}", ("m", "n"), "bf16"),
    ("{kind: mm, reads: [x, x], over: [m]}", ("k",), "bf16"),
    ("{kind: gather, reads: [table, index], along: rows}", ("picks", "h"), "bf16"),
    ("{kind: gather, reads: [table, own_index], along: rows}", ("m", "picks", "h"), "bf16"),
    ("{kind: gather, reads: [own_table, own_index], along: rows}", ("m", "picks", "h"), "bf16"),
    ("{kind: scatter, fn: set, reads: [cache, own_index, lines], along: rows}", ("m", "rows", "h"), "bf16"),
    ("{kind: scatter, fn: add, reads: [cache, index, lines], along: rows}", ("m", "rows", "h"), "bf16"),
    ("{kind: buffer, fn: permute, reads: [batched], order: k b m}", ("k", "b", "m"), "bf16"),
    ("{kind: buffer, fn: roll, reads: [pairs], along: h, by: h // 2}", ("m", "h"), "bf16"),
    ("{kind: buffer, fn: slice, reads: [own_table], along: rows, start: 1, to: picks}", ("m", "picks", "h"), "bf16"),
    ("{kind: buffer, fn: split, reads: [pairs], along: h, to: pair half}", ("m", "pair", "half"), "bf16"),
    ("{kind: buffer, fn: merge, reads: [batched], parts: b m, to: h}", ("h", "k"), "bf16"),
]


@pytest.mark.parametrize(("node", "dims", "dtype"), MADE)
def test_the_result_has_the_dims_that_the_rule_gives(node: str, dims: tuple[str, ...], dtype: str) -> None:
    made = graph(f"z: {node}").tensor_named["z"]
    assert (made.dims, made.dtype, made.role) == (dims, dtype, "intermediate")


def test_concatenation_joins_the_dims_that_are_not_shared() -> None:
    more = "p: {dims: [k, m], dtype: bf16, role: input}"
    assert graph("z: {kind: buffer, fn: concat, reads: [p, y], to: rows}", more).tensor_named["z"].dims == ("k", "rows")
    twice = graph("z: {kind: buffer, fn: concat, reads: [p, p], along: m, to: h}", more)
    assert twice.tensor_named["z"].dims == ("k", "h")


@pytest.mark.parametrize(
    ("declared", "node", "dims"),
    [
        ("[n, m]", "{kind: mm, reads: [x, y]}", ("n", "m")),
        ("[m, n, b]", "{kind: mm, reads: [batched, weight]}", ("m", "n", "b")),
        ("[m, n]", "{kind: mm, reads: [batched, weight]}", ("m", "n")),
        ("[b, k, m]", "{kind: buffer, fn: permute, reads: [batched]}", ("b", "k", "m")),
        ("[m, n, k]", "{kind: zip, fn: add, reads: [x, y]}", ("m", "n", "k")),
    ],
)
def test_a_declared_result_says_the_order_and_what_is_summed(declared: str, node: str, dims: tuple[str, ...]) -> None:
    made = graph(f"z: {node}", f"z: {{dims: {declared}, dtype: bf16, role: output}}")
    assert made.tensor_named["z"].dims == dims


def test_over_is_filled_in() -> None:
    (_, node), *_ = graph(
        "z: {kind: mm, reads: [batched, weight]}", "z: {dims: [m, n], dtype: bf16, role: output}"
    ).nodes()
    assert node.over == ("b", "k")


def test_a_declared_dtype_is_what_is_stored() -> None:
    made = graph("z: {kind: mm, reads: [x, y]}", "z: {dims: [m, n], dtype: fp8, role: output}")
    assert made.tensor_named["z"].dtype == "fp8"


def test_a_scatter_into_a_state_shares_its_storage_and_one_into_a_result_does_not() -> None:
    made = graph("""
        first: {kind: scatter, fn: set, reads: [cache, own_index, lines], along: rows}
        second: {kind: scatter, fn: max, reads: [first, own_index, lines], along: rows}
        other: {kind: scatter, fn: add, reads: [own_table, own_index, lines], along: rows}""")
    assert [made.tensor_named[name].shares for name in ("first", "second", "other")] == ["cache", "cache", ""]


REFUSED = [
    ("{kind: map, fn: exp, reads: [x, x]}", "reads 2 tensors where 1 is due"),
    ("{kind: map, fn: exp, reads: [x], by: 2.0}", "fn exp takes no 'by'; it takes no arguments"),
    ("{kind: map, fn: cast, reads: [x], dtype: bf17}", "unknown dtype 'bf17'"),
    ("{kind: map, fn: exq, reads: [x]}", "unknown map function 'exq'"),
    ("{kind: map, fn: scale, reads: [x], inverse_root: q}", "inverse_root: unknown name 'q'"),
    ("{kind: zip, fn: add, reads: [x, y]}", "no operand has all of \\[m, k, n\\]"),
    ("{kind: zip, fn: add, reads: [x]}", "reads 1 tensor where 2 are due"),
    ("{kind: zip, fn: ad, reads: [x, x]}", "unknown zip function 'ad'"),
    ("{kind: zip, fn: causal, reads: [x, x, row], window: 3}", "fn causal takes no 'window'; it takes no arguments"),
    ("{kind: zip, fn: sliding_window, reads: [x, x, row]}", "fn sliding_window needs 'window'"),
    ("{kind: zip, fn: sliding_window, reads: [x, x, row], window: m - m}", "window must be at least 1, is 0"),
    ("{kind: reduce, fn: sum, reads: [x], over: []}", "over is empty"),
    ("{kind: reduce, fn: sum, reads: [x], over: [n]}", "x has no dim 'n' to reduce"),
    ("{kind: reduce, fn: sum, reads: [x], over: [k, k]}", "names a dim twice"),
    ("{kind: reduce, fn: argmax, reads: [x], over: [k, m]}", "argmax is over one dim"),
    ("{kind: reduce, fn: su, reads: [x], over: [k]}", "unknown reduce function 'su'"),
    ("{kind: mm, reads: [x, table]}", "share no dim"),
    ("{kind: mm, reads: [batched, weight]}", "share \\[b, k\\]: write over"),
    ("{kind: mm, reads: [batched, weight], over: [m]}", "weight has no dim 'm' to sum"),
    ("{kind: mm, reads: [x, y], over: [k, k]}", "names a dim twice"),
    ("{kind: gather, reads: [table, row], along: rows}", "row is fp32; an index is"),
    ("{kind: gather, reads: [table, index], along: row}", "no dim 'row' to look up along \\(did you mean 'rows'"),
    (
        "{kind: scatter, fn: set, reads: [cache, index, pairs], along: rows}",
        "pairs \\[m, h\\] must have the dims of cache",
    ),
    ("{kind: scatter, fn: put, reads: [cache, index, lines], along: rows}", "one of set, add, max is due"),
    ("{kind: buffer, fn: permute, reads: [x]}", "say the order of \\[m, k\\]"),
    ("{kind: buffer, fn: permute, reads: [x], order: m n}", "\\[m, n\\] is no permutation of \\[m, k\\]"),
    ("{kind: buffer, fn: roll, reads: [x], along: k}", "fn roll needs 'by'"),
    ("{kind: buffer, fn: roll, reads: [x], along: k, by: 1, to: m}", "fn roll takes no 'to'"),
    ("{kind: buffer, fn: roll, reads: [x], along: n, by: 1}", "x has no dim 'n' to roll"),
    (
        "{kind: buffer, fn: slice, reads: [x], along: k, start: 2, to: n}",
        "elements 2 .. 5 are not within 'k', which has 5",
    ),
    ("{kind: buffer, fn: slice, reads: [x], along: k, to: m n}", "to must be one dim"),
    ("{kind: buffer, fn: slice, reads: [x], along: k, to: q}", "dim 'q' has no extent"),
    ("{kind: buffer, fn: slice, reads: [x], along: k, to: m}", "has a dim twice"),
    ("{kind: buffer, fn: split, reads: [pairs], along: h, to: pair m n}", "'h' has extent 6, and \\[pair, m, n\\] 24"),
    ("{kind: buffer, fn: merge, reads: [x], parts: m k, to: h}", "'h' has extent 6, and \\[m, k\\] 15"),
    ("{kind: buffer, fn: concat, reads: [x, table], to: h}", "say `along`"),
    ("{kind: buffer, fn: concat, reads: [x, x], along: k, to: h}", "k \\+ k is 10, and 'h' has extent 6"),
    ("{kind: all_reduce, reads: [x], along: m}", "'m' is a dim of x, not the members"),
    ("{kind: all_reduce, reads: [x], along: members}", "dim 'members' has no extent"),
]


@pytest.mark.parametrize(("node", "message"), REFUSED)
def test_a_wrong_node_is_refused(node: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        graph(f"z: {node}")


DECLARED_WRONG = [
    ("{dims: [m, m], dtype: bf16, role: output}", "{kind: map, fn: exp, reads: [x]}", "dim 'm' twice"),
    ("{dims: [k, m], dtype: bf16, role: output}", "{kind: map, fn: exp, reads: [x]}", "they differ at position 0"),
    ("{dims: [m, k, n], dtype: bf16, role: output}", "{kind: map, fn: exp, reads: [x]}", "they differ at position 2"),
    ("{dims: [m, k], dtype: bf16, role: output}", "{kind: mm, reads: [x, y], over: [k]}", "summed over \\[k\\] give"),
    ("{dims: [m, n, k], dtype: bf16, role: output}", "{kind: mm, reads: [x, y]}", "nothing is summed"),
    ("{dims: [m], dtype: bf16, role: output}", "{kind: reduce, fn: argmax, reads: [x], over: [k]}", "gives int32"),
    ("{dims: [k, m], dtype: fp32, role: output}", "{kind: buffer, fn: permute, reads: [x]}", "moved as they are"),
]


def test_the_node_that_makes_a_result_is_told_with_both_shapes_and_not_its_reader() -> None:
    """[3, 4] times [4, 4] is declared as [3, 3]: dim 1 is wrong, by the rule of products."""
    with pytest.raises(SpecError) as told:
        parse_graph("""name: declared
extents: {m: 3, k: 4, n: 4, other: 3}
tensors:
  a: {dims: [m, k], dtype: bf16, role: input}
  b: {dims: [k, n], dtype: bf16, role: input}
  p: {dims: [m, other], dtype: bf16, role: intermediate}
nodes:
  p: {kind: mm, reads: [a, b]}
  q: {kind: map, fn: exp, reads: [p]}
""")
    (mistake,) = told.value.mistakes
    assert str(mistake) == (
        "graph.yaml:8:3: nodes.p: p is declared with dims [m, other], and a [m, k] and b [k, n] summed over [k] give: "
        "[m, n] (they differ at position 1)"
    )


@pytest.mark.parametrize(("declared", "node", "message"), DECLARED_WRONG)
def test_a_result_that_differs_from_its_declaration_is_refused_where_it_is_made(
    declared: str, node: str, message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        graph(f"z: {node}\nlater: {{kind: map, fn: exp, reads: [z]}}", f"z: {declared}")
