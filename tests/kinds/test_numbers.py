"""The numpy meaning of kinds, against numpy used directly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from patterns.count import graph_demand
from patterns.errors import UserError
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph, Node, Tensor
from patterns.kind import Operand, kind_named
from patterns.library import workload
from patterns.numbers.tiles import tiled_dims
from patterns.read import parse_graph
from tests.kinds.graphs import SIZES, graph

Arrays = dict[str, Any]


def ran(nodes: str, **given_arrays: Any) -> tuple[Any, Arrays]:
    """The result `z` of nodes as text, and the arrays it was made from."""
    made = graph(nodes)
    arrays = {**random_arrays(made, 1), **{name: np.array(array) for name, array in given_arrays.items()}}
    return evaluate(made, arrays)["z"], arrays


def test_maps_and_zips_broadcast_by_name() -> None:
    z, a = ran("z: {kind: zip, fn: sub, reads: [row, x]}")
    np.testing.assert_array_equal(z, a["row"][None, :] - a["x"])
    z, a = ran("z: {kind: zip, fn: mul, reads: [x, x]}")
    np.testing.assert_array_equal(z, a["x"] ** 2)


def test_a_reduce_is_over_the_dims_it_names() -> None:
    z, a = ran("z: {kind: reduce, fn: mean, reads: [batched], over: [k, b]}")
    np.testing.assert_allclose(z, a["batched"].mean(axis=(0, 2)))
    z, a = ran("z: {kind: reduce, fn: argmax, reads: [batched], over: [m]}")
    np.testing.assert_array_equal(z, a["batched"].argmax(axis=1))


@st.composite
def contractions(draw: st.DrawFn) -> tuple[list[list[str]], list[str], list[str], dict[str, int]]:
    """Dims of two operands, summed dims, the result's dims in any order, extents."""
    roles = {dim: draw(st.sampled_from(["batch", "left", "right", "summed"])) for dim in "abcdef"}
    roles["s"] = "summed"
    left = [dim for dim, role in roles.items() if role != "right"]
    right = [dim for dim, role in roles.items() if role != "left"]
    operands = [draw(st.permutations(left)), draw(st.permutations(right))]
    summed = [dim for dim, role in roles.items() if role == "summed"]
    out = draw(st.permutations([dim for dim in roles if dim not in summed]))
    return operands, summed, out, {dim: draw(st.integers(1, 4)) for dim in roles}


@given(contractions())
def test_an_mm_is_an_einsum(drawn: tuple[list[list[str]], list[str], list[str], dict[str, int]]) -> None:
    operands, summed, out, sizes = drawn
    mm = kind_named("mm")
    tensors = [Tensor(name, tuple(dims), "bf16", "input") for name, dims in zip("xy", operands, strict=True)]
    declared = Tensor("z", tuple(out), "bf16", "output")
    node = mm.infer(Node("z", "mm", "", ("x", "y"), "z"), tensors, declared, sizes)
    assert set(node.over) == set(summed)
    assert mm.output(node, tensors, declared) == declared
    random = np.random.default_rng(0)
    arrays = [random.normal(size=[sizes[dim] for dim in dims]) for dims in operands]
    expected = np.einsum(f"{''.join(operands[0])},{''.join(operands[1])}->{''.join(out)}", *arrays)
    given_operands = [Operand(array, tuple(dims)) for array, dims in zip(arrays, operands, strict=True)]
    np.testing.assert_allclose(mm.compute(node, given_operands, tuple(out)), expected, rtol=1e-9, atol=1e-12)
    made = Graph("g", tuple(sizes.items()), (*tensors, declared), ())
    assert mm.demand(node, made, sizes).matrix_flops == 2 * np.prod(list(sizes.values()))


def test_a_gather_reads_rows() -> None:
    z, a = ran("z: {kind: gather, reads: [table, index], along: rows}")
    np.testing.assert_array_equal(z, a["table"][a["index"]])
    z, a = ran("z: {kind: gather, reads: [own_table, own_index], along: rows}")
    np.testing.assert_array_equal(z, np.stack([a["own_table"][i][a["own_index"][i]] for i in range(3)]))
    z, a = ran("z: {kind: gather, reads: [own_table, index], along: rows}")
    np.testing.assert_array_equal(z, a["own_table"][:, a["index"]])


@pytest.mark.parametrize("wrong", [-1, 7])
def test_an_index_outside_is_refused_or_gives_zero(wrong: int) -> None:
    index = [wrong, 6, 0, 1]
    with pytest.raises(UserError, match=rf"index has index {wrong}, outside 0 .. 6 of 'rows'"):
        ran("z: {kind: gather, reads: [table, index], along: rows}", index=index)
    with pytest.raises(UserError, match=r"outside 0 .. 6"):
        ran("z: {kind: scatter, fn: set, reads: [cache, index, lines], along: rows}", index=index)
    z, a = ran("z: {kind: gather, reads: [table, index], along: rows, outside: zero}", index=index)
    np.testing.assert_array_equal(z, [np.zeros(6), *a["table"][[6, 0, 1]]])


@pytest.mark.parametrize("fn", ["set", "add", "max"])
def test_a_scatter_writes_rows_and_says_what_repeated_ones_do(fn: str) -> None:
    index = [2, 5, 2, 0]
    z, a = ran(f"z: {{kind: scatter, fn: {fn}, reads: [cache, index, lines], along: rows}}", index=index)
    expected = a["cache"].copy()
    for m in range(3):
        for at, row in enumerate(index):
            line = a["lines"][m, at]
            old = expected[m, row]
            expected[m, row] = {"set": line, "add": old + line, "max": np.maximum(old, line)}[fn]
    np.testing.assert_allclose(z, expected)


@pytest.mark.parametrize("of_rows", ["C", "F"])
@pytest.mark.parametrize("of_index", ["C", "F"])
def test_rows_are_written_in_the_order_of_their_dims_wherever_they_lie_in_memory(of_rows: Any, of_index: Any) -> None:
    node = Node("z", "scatter", "set", ("t", "i", "r"), "z", along="q")
    rows = np.asarray(np.arange(6.0).reshape(3, 2), order=of_rows)
    index = Operand(np.asarray([[0, 0, 1], [1, 0, 0]], order=of_index), ("a", "c"))
    z = kind_named("scatter").compute(node, [Operand(np.zeros(2), ("q",)), index, Operand(rows, ("c", "a"))], ("q",))
    np.testing.assert_array_equal(z, [5.0, 4.0])


def test_rows_are_scattered_by_tiles_only_where_their_order_stays() -> None:
    made = graph(
        "z: {kind: scatter, fn: set, reads: [t, i, r], along: h}",
        tensors="""
        t: {dims: [h, n], dtype: bf16, role: input}
        i: {dims: [m, b, k], dtype: int32, role: input}
        r: {dims: [m, b, n, k], dtype: bf16, role: input}""",
    )
    assert tiled_dims(made, made.blocks[0].nodes[0]) == {"m", "n"}


def test_nothing_is_sent_in_a_group_of_one() -> None:
    made = graph("z: {kind: all_reduce, reads: [x], along: alone}", extents=SIZES.replace("m: 3", "m: 3, alone: 1"))
    assert graph_demand(made).network_bytes == 0
    made = graph("z: {kind: all_reduce, reads: [x], along: b}")
    assert graph_demand(made).network_bytes == 3 * 5 * 2


def test_buffers_move_elements() -> None:
    z, a = ran("z: {kind: buffer, fn: permute, reads: [batched], order: k b m}")
    np.testing.assert_array_equal(z, a["batched"].transpose(2, 0, 1))
    z, a = ran("z: {kind: buffer, fn: roll, reads: [pairs], along: h, by: h / 2}")
    np.testing.assert_array_equal(z, np.concatenate([a["pairs"][:, 3:], a["pairs"][:, :3]], axis=1))
    z, a = ran("z: {kind: buffer, fn: slice, reads: [own_table], along: rows, start: rows - 4, to: picks}")
    np.testing.assert_array_equal(z, a["own_table"][:, 3:])
    z, a = ran("z: {kind: buffer, fn: split, reads: [pairs], along: h, to: pair half}")
    np.testing.assert_array_equal(z, a["pairs"].reshape(3, 2, 3))
    z, a = ran("z: {kind: buffer, fn: merge, reads: [batched], parts: m b, to: h}")
    np.testing.assert_array_equal(z, a["batched"].transpose(1, 0, 2).reshape(6, 5))
    z, a = ran(
        "p: {kind: buffer, fn: permute, reads: [x], order: k m}\nz: {kind: buffer, fn: concat, reads: [p, y], to: rows}"
    )
    np.testing.assert_array_equal(z, np.concatenate([a["x"].T, a["y"]], axis=1))


def test_the_rotary_position_is_a_roll_with_signed_sines() -> None:
    """x cos + roll(x) sin, with the first half of sin negative, turns the pairs (x[i], x[i + d/2])."""
    z, a = ran("""
        rolled: {kind: buffer, fn: roll, reads: [pairs], along: h, by: h / 2}
        z: {kind: zip, fn: mul, reads: [rolled, rolled]}""")
    x, angle = a["pairs"], np.array([0.3, 1.0, 2.0])
    cos, sin = np.tile(np.cos(angle), 2), np.concatenate([-np.sin(angle), np.sin(angle)])
    turned = x * cos + np.roll(x, 3, axis=1) * sin
    complex_pairs = (x[:, :3] + 1j * x[:, 3:]) * np.exp(1j * angle)
    np.testing.assert_allclose(turned, np.concatenate([complex_pairs.real, complex_pairs.imag], axis=1))
    np.testing.assert_allclose(z, np.roll(x, 3, axis=1) ** 2)


def test_members_get_the_sum() -> None:
    tensors = "w: {dims: [m], dtype: bf16, role: weight}"
    nodes = "t: {kind: map, fn: square, reads: [w]}\nz: {kind: all_reduce, reads: [t], along: b}"
    made = graph(nodes, tensors)
    arrays = {**random_arrays(made, 1, members=2), "w": np.array([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]])}
    result = evaluate(made, arrays, members=2)["z"]
    np.testing.assert_array_equal(result, [[101, 404, 909]] * 2)


def test_random_arrays_are_indices_within_range_that_differ() -> None:
    made = graph("z: {kind: gather, reads: [table, own_index], along: rows}")
    index = random_arrays(made, 3)["own_index"]
    assert index.min() >= 0
    assert index.max() < 7
    assert all(len(set(row)) == 4 for row in index)
    assert all((random_arrays(made, 3)[name] == array).all() for name, array in random_arrays(made, 3).items())


def test_random_positions_are_those_of_a_cache() -> None:
    made = workload("attention", overrides={"context": "500", "batch": "9"})
    arrays = random_arrays(made, 0)
    assert sorted(arrays["slots"]) == list(range(500))
    assert 100 < arrays["positions"].max() < 500


def without(arrays: Arrays, names: Sequence[str]) -> Arrays:
    return {name: array for name, array in arrays.items() if name not in names}


def test_wrong_arrays_are_refused_all_at_once() -> None:
    made = graph("z: {kind: gather, reads: [table, index], along: rows}")
    arrays = without(random_arrays(made, 0), ["x"])
    arrays |= {"y": np.zeros((4, 5)), "index": np.zeros(4), "row": np.array(list("abcde")), "tabel": np.zeros(2)}
    with pytest.raises(UserError) as error:
        evaluate(made, arrays)
    assert str(error.value).splitlines() == [
        "'tabel' is no input, weight or state of test (did you mean 'table'?)",
        "'x' (input) is missing: [m, k] = 3 x 5",
        "'y' has shape 4 x 5, due is [k, n] = 5 x 4",
        "'row' is <U1, due are numbers",
        "'index' is float64, due are integers (int32)",
    ]


@pytest.mark.parametrize(("thing", "kind"), [([[1.0] * 5] * 3, "list"), ("ones", "str"), (None, "NoneType")])
def test_what_is_no_array_is_refused(thing: Any, kind: str) -> None:
    made = graph("z: {kind: mm, reads: [x, y]}")
    with pytest.raises(UserError) as error:
        evaluate(made, random_arrays(made, 0) | {"x": thing})
    assert str(error.value) == f"'x' is of type {kind}, due is a numpy array: [m, k] = 3 x 5"


def test_evaluation_changes_nothing_that_was_given() -> None:
    made = graph("z: {kind: scatter, fn: set, reads: [cache, index, lines], along: rows}")
    arrays = random_arrays(made, 0)
    before = {name: array.copy() for name, array in arrays.items()}
    after = evaluate(made, arrays)["cache"]
    assert all((arrays[name] == before[name]).all() for name in arrays)
    assert (after != arrays["cache"]).any()


def test_what_was_read_of_a_state_stays_when_it_is_written() -> None:
    z, a = ran("""
        turned: {kind: buffer, fn: permute, reads: [cache], order: h rows m}
        written: {kind: scatter, fn: set, reads: [cache, own_index, lines], along: rows}
        z: {kind: map, fn: copy, reads: [turned]}""")
    np.testing.assert_array_equal(z, a["cache"].transpose(2, 1, 0))


def test_a_state_is_not_read_under_its_old_name_after_it_was_written() -> None:
    with pytest.raises(UserError, match="'z' reads 'cache' after 'written' was written over it; read 'written'"):
        ran("""
            written: {kind: scatter, fn: set, reads: [cache, own_index, lines], along: rows}
            z: {kind: map, fn: copy, reads: [cache]}""")


@pytest.mark.parametrize(("count", "allowed"), [("count: 1", True), ("count: 2", False)])
def test_what_another_execution_has_written_over_is_not_read(count: str, allowed: bool) -> None:
    made = blocks_after_a_scatter(
        f"{count}\n    nodes: {{two: {{kind: scatter, fn: set, reads: [one, ids, x], along: r}}}}"
    )
    if allowed:
        assert evaluate(made, random_arrays(made, 1))["two"].shape == (4,)
        return
    with pytest.raises(UserError, match="'two' reads 'one' after 'two' was written over it; read 'cache'"):
        evaluate(made, random_arrays(made, 1))


def test_later_blocks_read_a_state_under_its_own_name() -> None:
    again = "nodes: {two: {kind: scatter, fn: set, reads: [cache, ids, x], along: r}}\n  third:\n    "
    made = blocks_after_a_scatter(again + "nodes: {z: {kind: map, fn: copy, reads: [cache]}}")
    found = evaluate(made, random_arrays(made, 1))
    np.testing.assert_array_equal(found["z"], found["cache"])
    made = blocks_after_a_scatter(again + "nodes: {z: {kind: map, fn: copy, reads: [one]}}")
    with pytest.raises(UserError, match="'z' reads 'one' after 'two' was written over it; read 'cache'"):
        evaluate(made, random_arrays(made, 1))


def blocks_after_a_scatter(blocks: str) -> Graph:
    """A block that writes a state, then others."""
    return parse_graph(f"""
name: states
extents: {{r: 4, n: 2}}
tensors:
  cache: {{dims: [r], dtype: bf16, role: state}}
  ids: {{dims: [n], dtype: int32, role: input}}
  x: {{dims: [n], dtype: bf16, role: input}}
blocks:
  first:
    nodes: {{one: {{kind: scatter, fn: set, reads: [cache, ids, x], along: r}}}}
  second:
    {blocks}
""")
