"""Plans run on numbers: equal to evaluation, or refused; never other numbers."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from patterns.errors import UserError
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.library import workload
from patterns.numbers.execute import execute
from patterns.numbers.tiles import PlanError, accumulated_dims, tiled_dims
from patterns.plan import Call, Nest, Plan, Tile, Tiling
from tests.kinds.graphs import chains, graph
from tests.kinds.plans import call, each_node, plan, tiles

SMALL_LLAMA = {
    "batch": "2",
    "context": "9",
    "layers": "3",
    "hidden": "12",
    "model_heads": "4",
    "model_kv_heads": "2",
    "head_dim": "6",
    "model_ffn": "10",
    "model_vocabulary": "14",
}


def same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found.keys() == expected.keys()
    for name in expected:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-12, err_msg=name)


def check(made: Plan, seed: int = 1) -> None:
    """The plan gives what its graph gives."""
    arrays = random_arrays(made.graph, seed, made.members)
    same(execute(made, arrays), evaluate(made.graph, arrays, made.members))


def softmax() -> Graph:
    return workload("softmax", overrides={"rows": "5", "columns": "7"})


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 9])
def test_tiles_that_do_not_divide_are_all_run(rows: int) -> None:
    check(plan(softmax(), call("e s y", Tiling(tiles(rows=rows)), block="softmax")))


@pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 1), (2, 4, 3), (5, 3, 4), (3, 6, 11)])
def test_contracted_dims_are_accumulated(m: int, n: int, k: int) -> None:
    made = workload("gemm_bias_act", overrides={"m": "5", "n": "6", "k": "11"})
    tiling = Tiling(tiles(m=m, n=n, k=k))
    check(plan(made, call("product biased y", tiling, block="gemm_bias_act")))


def test_a_fused_mlp_accumulates_over_what_its_first_half_makes() -> None:
    made = workload("swiglu_mlp", overrides={"tokens": "3", "hidden": "5", "ffn": "11"})
    check(plan(made, call("gate up activated gated y", Tiling(tiles(tokens=2, ffn=4)), block="swiglu_mlp")))
    twice = Nest(("gate", "up"), Tiling(tiles(ffn=1, hidden=2)))
    nested = Tiling(tiles(tokens=2, ffn=4), nests=(twice,))
    check(plan(made, call("gate up activated gated y", nested, block="swiglu_mlp")))


def test_an_argmax_knows_where_its_tile_is() -> None:
    made = graph("z: {kind: reduce, fn: argmax, reads: [y], over: [k]}")
    check(plan(made, call("z", Tiling(tiles(n=3, k=2)), block="test")))


@pytest.mark.parametrize("fn", ["set", "add", "max"])
def test_a_scatter_keeps_what_earlier_tiles_wrote(fn: str) -> None:
    made = graph(f"z: {{kind: scatter, fn: {fn}, reads: [cache, own_index, lines], along: rows}}")
    check(plan(made, call("z", Tiling(tiles(m=2, picks=3, h=4)), block="test")))
    check(plan(made, call("z", Tiling(tiles(picks=1, m=1)), block="test")))


def test_a_dim_is_whole_for_what_moves_along_it() -> None:
    text = "t: {kind: map, fn: neg, reads: [pairs]}\nz: {kind: buffer, fn: roll, reads: [t], along: h, by: 1}"
    check(plan(graph(text), call("t z", Tiling(tiles(m=2, h=4)), block="test")))
    again = graph(f"{text}\nu: {{kind: map, fn: neg, reads: [z]}}")
    refused("u reads a tile of z before it is complete", call("t z u", Tiling(tiles(h=4)), block="test"), of=again)


@given(chains(), st.integers(1, 7), st.integers(1, 7), st.integers(1, 7), st.integers(1, 7))
def test_every_node_alone_in_any_tiles_gives_the_same(made: Graph, i: int, j: int, l: int, v: int) -> None:  # noqa: E741
    check(each_node(made, tiles(i=i, j=j, l=l, v=v)))


@st.composite
def fused(draw: st.DrawFn) -> Plan:
    """Chains cut into calls of consecutive nodes, with any loops and nests at all."""
    made = draw(chains())
    names = [node.name for _, node in made.nodes()]
    calls = []
    while names:
        own = names[: draw(st.integers(1, len(names)))]
        names = names[len(own) :]
        nests = []
        if draw(st.booleans()):
            start = draw(st.integers(0, len(own) - 1))
            inside = own[start : draw(st.integers(start + 1, len(own)))]
            nests = [Nest(tuple(inside), Tiling(draw(_LOOPS)))]
        calls.append(call(" ".join(own), Tiling(draw(_LOOPS), nests=tuple(nests)), block="chain", name=f"call{own[0]}"))
    return plan(made, *calls)


_LOOPS = st.lists(st.builds(Tile, st.sampled_from("ijl"), st.integers(1, 7)), max_size=2).map(tuple)


@given(fused())
def test_a_plan_is_run_as_its_graph_says_or_refused(made: Plan) -> None:
    arrays = random_arrays(made.graph, 2)
    try:
        found = execute(made, arrays)
    except PlanError:
        return
    same(found, evaluate(made.graph, arrays))


@given(chains(), st.integers(1, 7), st.lists(st.integers(1, 7), max_size=3))
def test_a_dim_that_is_free_in_all_nodes_can_always_be_tiled(made: Graph, extent: int, cuts: list[int]) -> None:
    names = [node.name for _, node in made.nodes()]
    edges = [0, *sorted({at for at in cuts if at < len(names)}), len(names)]
    groups = [names[start:end] for start, end in pairwise(edges)]
    free = all("i" in tiled_dims(made, node) - accumulated_dims(made, node) for _, node in made.nodes())
    assert free
    calls = [call(" ".join(group), Tiling(tiles(i=extent)), block="chain") for group in groups]
    check(plan(made, *calls))


@pytest.mark.parametrize("phase", ["decode", "prefill"])
def test_a_model_node_by_node_in_odd_tiles(phase: str) -> None:
    loops = tiles(batch=1, seq=4, context=4, hidden=5, kv_heads=1, group=1, head_dim=4, ffn=3, vocabulary=5)
    check(each_node(workload("llama", phase=phase, overrides=SMALL_LLAMA), loops))


def looped_llama(iterations: int = 3, count: int = 1) -> Plan:
    made = workload("llama", overrides=SMALL_LLAMA)
    embedding, decoder, head = (" ".join(node.name for node in block.nodes) for block in made.blocks)
    return plan(
        made,
        call(embedding, block="embedding"),
        call(decoder, block="decoder", iterations=iterations, count=count),
        call(head, block="head"),
    )


def test_a_block_is_repeated_by_launches_or_inside_one() -> None:
    check(looped_llama(iterations=3))
    check(looped_llama(iterations=1, count=3))


@pytest.mark.parametrize(("iterations", "count"), [(2, 1), (1, 4)])
def test_a_block_that_is_not_run_as_often_as_it_must_is_refused(iterations: int, count: int) -> None:
    with pytest.raises(PlanError, match=r"executed (2 times of 3|more than 3 times)"):
        check(looped_llama(iterations, count))


def test_one_call_may_span_blocks() -> None:
    made = workload("llama", overrides=SMALL_LLAMA)
    everything = " ".join(node.name for _, node in made.nodes())
    check(plan(made, call(everything, block="")))


def test_members_run_in_lockstep() -> None:
    made = workload("llama", members=2, overrides=SMALL_LLAMA)
    loops = tiles(batch=1, hidden=5)
    check(plan(made, *each_node(made, loops).calls, members=2))


def refused(message: str, *calls: Call, of: Graph | None = None) -> None:
    with pytest.raises(PlanError, match=message):
        check(plan(of or softmax(), *calls))


def test_a_plan_that_does_not_compute_its_graph_is_refused() -> None:
    refused("y reads a tile of s before", call("e s y", Tiling(tiles(columns=3)), block="softmax"))
    refused("reads s, which no call before", call("e y", block="softmax"), call("s", block="softmax"))
    refused("reads e, which no call before", call("s", block="softmax"), call("e y", block="softmax"))
    refused(r"left out, foreign or run twice: \['y'\]", call("e s", block="softmax"))
    refused(r"run twice: \['e'\]", call("e s", block="softmax", name="a"), call("e y", block="softmax", name="b"))
    refused("no dim of the graph", call("e s y", Tiling(tiles(column=3)), block="softmax"))
    refused("tiles of 0", call("e s y", Tiling(tiles(rows=0)), block="softmax"))
    refused("the graph does not have", call("e s y", block="soft"))


def test_a_tensor_that_a_call_hides_is_not_visible_outside_it() -> None:
    with pytest.raises(UserError, match="'e' is not visible"):
        execute(plan(softmax(), call("e s y", block="softmax")), random_arrays(softmax(), 0), also=["e"])
    shown = execute(
        plan(softmax(), call("e", block="softmax"), call("s y", block="softmax")),
        random_arrays(softmax(), 0),
        also=["e"],
    )
    assert "e" in shown


def test_an_accumulator_holds_one_tile() -> None:
    made = workload("gemm", overrides={"m": "5", "n": "6", "k": "7"})
    refused(
        "c accumulates over 'k' around the loop over 'm'", call("c", Tiling(tiles(k=3, m=2)), block="gemm"), of=made
    )


def test_nests_are_consecutive_nodes_of_their_call() -> None:
    for nodes in (("e", "y"), ("s", "e"), ("x",)):
        tiling = Tiling(nests=(Nest(nodes, Tiling()),))
        refused("a nest holds|not nodes of the call", call("e s y", tiling, block="softmax"))


def test_a_looped_call_holds_all_of_its_block() -> None:
    made = workload("llama", overrides=SMALL_LLAMA)
    first, *others = (node.name for node in made.blocks[1].nodes)
    embedding = " ".join(node.name for node in made.blocks[0].nodes)
    calls = [call(embedding, block="embedding")]
    calls += [call(text, block="decoder", iterations=3) for text in (first, " ".join(others))]
    refused("runs its block 3 times, but not all of it", *calls, of=made)


def test_wrong_arrays_are_the_users_mistake() -> None:
    with pytest.raises(UserError, match="'x' \\(input\\) is missing"):
        execute(each_node(softmax()), {})
