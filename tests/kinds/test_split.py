"""Split dims: partial results, the online merge, and what cannot be merged."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patterns.graph import Graph
from patterns.library import workload
from patterns.numbers.online import Partial, partials, why_not_split
from patterns.numbers.split import part_ranges
from patterns.numbers.tiles import PlanError
from patterns.plan import Tiling
from patterns.read import parse_graph
from tests.kinds.plans import call, combine, plan, tiles
from tests.kinds.test_execute import check

SMALL = {"batch": "2", "seq": "3", "context": "11", "kv_heads": "2", "group": "2", "head_dim": "4"}

HEADER = """
name: g
extents: {m: 3, k: 11, n: 4}
tensors:
  x: {dims: [m, k], dtype: bf16, role: input}
  v: {dims: [k, n], dtype: bf16, role: input}
  bias: {dims: [n], dtype: bf16, role: input}
nodes:
"""
STABLE = """
  m_: {kind: reduce, fn: max, reads: [x], over: [k]}
  d: {kind: zip, fn: sub, reads: [x, m_]}
  e: {kind: map, fn: exp, reads: [d]}
  l: {kind: reduce, fn: sum, reads: [e], over: [k]}
"""
FORMS = {
    "divided first": STABLE + "  p: {kind: zip, fn: div, reads: [e, l]}\n  z: {kind: mm, reads: [p, v]}\n",
    "divided last": STABLE + "  o: {kind: mm, reads: [e, v]}\n  z: {kind: zip, fn: div, reads: [o, l]}\n",
    "not divided": STABLE + "  z: {kind: mm, reads: [e, v]}\n",
    "no maximum": """
  e: {kind: map, fn: exp, reads: [x]}
  l: {kind: reduce, fn: sum, reads: [e], over: [k]}
  p: {kind: zip, fn: div, reads: [e, l]}
  z: {kind: mm, reads: [p, v]}
""",
    "scaled": STABLE
    + "  p: {kind: zip, fn: div, reads: [e, l]}\n  h: {kind: map, fn: scale, reads: [p], by: 0.5}\n"
    + "  z: {kind: mm, reads: [h, v]}\n",
    "sum": "  z: {kind: reduce, fn: sum, reads: [x], over: [k]}\n",
    "maximum": "  z: {kind: reduce, fn: max, reads: [x], over: [k]}\n",
    "product": "  z: {kind: mm, reads: [x, v]}\n",
    "scaled product": "  t: {kind: mm, reads: [x, v]}\n  z: {kind: zip, fn: mul, reads: [t, bias]}\n",
    "product of a function": "  t: {kind: map, fn: tanh, reads: [x]}\n  z: {kind: mm, reads: [t, v]}\n",
    "two results": STABLE + "  o: {kind: mm, reads: [e, v]}\n  z: {kind: zip, fn: div, reads: [o, l]}\n"
    "  t: {kind: map, fn: neg, reads: [x]}\n",
}


def named(form: str) -> Graph:
    return parse_graph(HEADER + FORMS[form])


def nodes_of(made: Graph) -> str:
    return " ".join(node.name for _, node in made.nodes())


def split(made: Graph, parts: int, dim: str = "k", **loops: int) -> Any:
    """All nodes in one call that splits a dim, and the call that merges its parts."""
    block = made.blocks[0].name
    tiling = Tiling(tiles(**loops), ((dim, parts),))
    return plan(made, call(nodes_of(made), tiling, block=block, name="split"), combine("split", block=block))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("parts", [1, 2, 3, 4, 11, 20])
def test_parts_are_merged(form: str, parts: int) -> None:
    check(split(named(form), parts, m=2))


@given(st.integers(1, 13), st.integers(1, 3), st.integers(1, 2), st.integers(0, 5))
def test_attention_over_a_split_context_is_attention(parts: int, batch: int, kv_heads: int, seed: int) -> None:
    made = workload("attention", overrides=SMALL)
    check(split(made, parts, "context", batch=batch, kv_heads=kv_heads), seed)


def test_scores_of_very_different_size_are_rescaled() -> None:
    """Parts whose maxima differ by hundreds: without the right factor the result is far off or not a number."""
    made = parse_graph(
        (HEADER + FORMS["divided first"])
        .replace("reads: [x]", "reads: [big]")
        .replace("reads: [x, m_]", "reads: [big, m_]")
        .replace("  m_:", "  big: {kind: map, fn: scale, reads: [x], by: 300.0}\n  m_:")
    )
    check(split(made, 4))


def test_what_the_parts_are_follows_from_structure() -> None:
    made = named("divided first")
    found = partials(made, [node for _, node in made.nodes()], "k")
    assert found == {
        "m_": Partial("extreme"),
        "d": Partial("shifted", "m_"),
        "e": Partial("scaled", "m_"),
        "l": Partial("weighted", "m_"),
        "p": Partial("scaled", "m_", "l"),
        "z": Partial("weighted", "m_", "l"),
    }


def test_split_k_runs_its_own_loops() -> None:
    made = workload("gemm", overrides={"m": "5", "n": "6", "k": "13"})
    check(split(made, 3, m=2, n=4, k=2))


def test_a_split_call_may_write_the_cache_first() -> None:
    made = workload(
        "llama",
        phase="prefill",
        overrides={
            "batch": "1",
            "context": "7",
            "layers": "2",
            "hidden": "6",
            "model_heads": "2",
            "model_kv_heads": "1",
            "head_dim": "4",
            "model_ffn": "3",
            "model_vocabulary": "5",
        },
    )
    names = [node.name for node in made.blocks[1].nodes]
    first, last = names.index("q_rolled"), names.index("attended") + 1
    groups = [names[:first], names[first:last], names[last:]]
    texts = [" ".join(group) for group in groups]
    calls = [call(nodes_of_block(made, 0), block="embedding")]
    calls += [call(texts[0], block="decoder", count=2)]
    calls += [call(texts[1], Tiling(splits=(("context", 3),)), block="decoder", name="split", count=2)]
    calls += [combine("split", block="decoder", count=2), call(texts[2], block="decoder", count=2)]
    check(plan(made, *calls, call(nodes_of_block(made, 2), block="head")))


def nodes_of_block(made: Graph, number: int) -> str:
    return " ".join(node.name for node in made.blocks[number].nodes)


UNMERGEABLE = {
    "  t: {kind: mm, reads: [x, v]}\n  z: {kind: zip, fn: add, reads: [t, bias]}\n": "z needs t, bias of all parts",
    "  t: {kind: mm, reads: [x, v]}\n  z: {kind: map, fn: gelu, reads: [t]}\n": "z needs t of all parts",
    "  z: {kind: reduce, fn: mean, reads: [x], over: [k]}\n": "z needs x of all parts",
    "  z: {kind: reduce, fn: argmax, reads: [x], over: [k]}\n": "z needs x of all parts",
    "  z: {kind: buffer, fn: roll, reads: [t], along: k, by: 1}\n": "z needs all of 'k' of t",
    STABLE + "  z: {kind: zip, fn: div, reads: [e, l]}\n": "read outside, and would have to be rescaled",
    STABLE + "  z: {kind: zip, fn: add, reads: [e, l]}\n": "z needs e, l of all parts",
    "  s: {kind: reduce, fn: sum, reads: [x], over: [k]}\n  z: {kind: zip, fn: sub, reads: [x, s]}\n": "z needs x, s",
}


@pytest.mark.parametrize("text", UNMERGEABLE)
def test_what_cannot_be_merged_is_refused(text: str) -> None:
    before = "  t: {kind: map, fn: neg, reads: [x]}\n" if "[t], along" in text else ""
    made = parse_graph(HEADER + before + text)
    with pytest.raises(PlanError, match=UNMERGEABLE[text]):
        check(split(made, 2))
    nodes = [node for _, node in made.nodes()]
    assert why_not_split(made, nodes, "k", frozenset({"z"}))


def test_a_split_that_can_be_merged_has_no_reason_against_it() -> None:
    made = named("divided first")
    assert why_not_split(made, [node for _, node in made.nodes()], "k", frozenset({"z"})) == ""


def test_parts_must_be_merged_and_only_once_there_are_some() -> None:
    made = named("product")
    alone = call("z", Tiling(splits=(("k", 2),)), block="g")
    with pytest.raises(PlanError, match=r"partial results of \['z'\] are not merged"):
        check(plan(made, alone))
    with pytest.raises(PlanError, match="combines 'z', which left nothing to merge"):
        check(plan(made, call("z", block="g"), combine("z", block="g")))
    with pytest.raises(PlanError, match="one dim of a call is split"):
        check(plan(made, call("z", Tiling(splits=(("k", 2), ("m", 2))), block="g")))
    with pytest.raises(PlanError, match="into 0 parts"):
        check(plan(made, call("z", Tiling(splits=(("k", 0),)), block="g")))


@given(st.integers(1, 50), st.integers(1, 60))
def test_parts_cover_a_dim_once(extent: int, count: int) -> None:
    ranges = [part["d"] for part in part_ranges("d", extent, count)]
    assert [i for begin, end in ranges for i in range(begin, end)] == list(range(extent))
    assert len(ranges) <= count
