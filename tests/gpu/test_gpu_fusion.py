"""Fusion: policies by rules on traits, legality checked once for all of them, every refusal with its reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_model import load_machine, lower, policy_names
from gpu_model.asked import Ask
from gpu_model.joining.legal import separate
from patterns.graph import Graph
from patterns.library import workload
from patterns.plan import Plan
from patterns.read import parse_graph
from tests.gpu.attention_text import ATTENTION

H100 = load_machine("h100_sxm")


def parse(text: str) -> Graph:
    return parse_graph(text, "test.yaml", {})


def kernels(graph: Graph, policy: str) -> list[tuple[str, ...]]:
    return [call.nodes for call in lower(graph, H100, policy=policy).calls if call.nodes]


def reasons(plan: Plan, *nodes: str) -> list[str]:
    return [refusal.reason for refusal in plan.refusals if set(nodes) <= set(refusal.nodes)]


def test_policies_from_the_least_fused() -> None:
    assert policy_names()[:4] == ("pattern", "operator", "library", "epilogue")


def test_softmax_is_three_kernels_or_one() -> None:
    assert kernels(workload("softmax"), "pattern") == [("e",), ("s",), ("y",)]
    assert kernels(workload("softmax"), "operator") == [("e",), ("s",), ("y",)]
    assert kernels(workload("softmax"), "library") == [("e", "s", "y")]


def test_a_norm_with_its_residual_add_is_one_kernel() -> None:
    assert len(kernels(workload("add_rms_norm"), "operator")) == 3
    assert len(kernels(workload("add_rms_norm"), "library")) == 1


def test_an_epilogue_stays_outside_of_a_library_gemm() -> None:
    assert kernels(workload("gemm_bias_act"), "library") == [("product",), ("biased", "y")]


def test_attention_is_one_kernel_if_all_its_intermediates_may_vanish() -> None:
    assert len(kernels(workload("attention"), "library")) == 1
    assert len(kernels(workload("attention"), "operator")) == 7


def test_attention_whose_probabilities_are_a_result_is_not_fused() -> None:
    hidden = parse(ATTENTION.replace("  p: {dims: [rows, keys], dtype: bf16, role: ROLE}\n", ""))
    assert len(kernels(hidden, "library")) == 1
    plan = lower(parse(ATTENTION.replace("ROLE", "output")), H100)
    assert [call.nodes for call in plan.calls] == [("s",), ("top", "shifted", "e", "total", "p"), ("y",)]
    assert reasons(plan, "s", "y") == ["p is needed outside: it is a result"]


def test_only_what_can_be_rescaled_is_taken_in_parts() -> None:
    # A norm between two products looks alike, but the root of a mean cannot be put together from parts.
    graph = parse("""
name: norm_between
extents: {rows: 8, wide: 64, mid: 32}
tensors:
  x: {dims: [rows, wide], dtype: bf16, role: input}
  w1: {dims: [wide, mid], dtype: bf16, role: weight}
  w2: {dims: [mid, wide], dtype: bf16, role: weight}
  y: {dims: [rows, wide], dtype: bf16, role: output}
nodes:
  h: {kind: mm, reads: [x, w1], over: [wide]}
  squares: {kind: map, fn: square, reads: [h]}
  mean: {kind: reduce, fn: mean, reads: [squares], over: [mid]}
  root: {kind: map, fn: rsqrt, reads: [mean]}
  scaled: {kind: zip, fn: mul, reads: [h, root]}
  y: {kind: mm, reads: [scaled, w2], over: [mid]}
""")
    plan = lower(graph, H100)
    assert len(plan.calls) == 3
    assert reasons(plan, "h", "y") == ["mean needs squares of all parts of 'mid' at once"]


def test_a_path_that_leaves_and_comes_back_is_named() -> None:
    graph = parse("""
name: around
extents: {n: 64, m: 32}
tensors:
  x: {dims: [n, m], dtype: bf16, role: input}
  y: {dims: [n, m], dtype: bf16, role: output}
nodes:
  a: {kind: map, fn: exp, reads: [x]}
  b: {kind: reduce, fn: sum, reads: [a], over: [m]}
  y: {kind: zip, fn: div, reads: [a, b]}
""")
    plan = lower(graph, H100, policy="operator")
    assert reasons(plan, "a", "y") == ["the path a -> b -> y leaves the kernel and comes back"]


def test_other_kernels_are_one_step_of_a_path() -> None:
    # Neither a -> b1 nor b2 -> c is a way around by itself; joined, b1 and b2 are one kernel.
    graph = parse("""
name: through
extents: {n: 8, m: 4, k: 4}
tensors:
  x: {dims: [n, m], dtype: bf16, role: input}
  z: {dims: [n, m], dtype: bf16, role: input}
  u: {dims: [n], dtype: bf16, role: output}
  y: {dims: [n], dtype: bf16, role: output}
nodes:
  a: {kind: map, fn: exp, reads: [x]}
  u: {kind: reduce, fn: sum, reads: [a], over: [m]}
  b2: {kind: reduce, fn: sum, reads: [z], over: [m]}
  y: {kind: map, fn: exp, reads: [b2]}
""")
    alone = separate(graph, graph.blocks[0], Ask(H100))
    together = alone.join((alone.of["a"], alone.of["y"]), "test")
    assert together.of["a"] is together.of["y"]
    first = alone.join((alone.of["u"], alone.of["b2"]), "test")
    second = first.join((first.of["a"], first.of["y"]), "test")
    assert second.of["a"] is not second.of["y"]
    assert second.refused[-1].reason == "the path a -> u -> b2 -> y leaves the kernel and comes back"


def test_a_tensor_that_is_read_outside_is_written_too() -> None:
    # t is read by the reduce beside it and by a product elsewhere: fused, it is still a result of the kernel.
    text = """
name: kept
extents: {n: 1024, m: 1024, p: 64}
tensors:
  x: {dims: [n, m], dtype: fp16, role: input}
  w: {dims: [m, p], dtype: fp16, role: weight}
  r: {dims: [n], dtype: fp16, role: output}
  o: {dims: [n, p], dtype: fp16, role: output}
nodes:
  t: {kind: map, fn: exp, reads: [x]}
  r: {kind: reduce, fn: sum, reads: [t], over: [m]}
  o: {kind: mm, reads: [t, w]}
"""
    plan = lower(parse(text), H100)
    fused = plan.calls[0]
    assert fused.nodes == ("t", "r")
    assert dict(fused.traffic)["hbm"] == 2_097_152 + 2_097_152 + 2_048
    without = text.replace("  o: {kind: mm, reads: [t, w]}\n", "  o: {kind: mm, reads: [x, w]}\n")
    assert dict(lower(parse(without), H100).calls[0].traffic)["hbm"] == 2_097_152 + 2_048


WIDE = """
name: wide
extents: {rows: 4, columns: COLUMNS}
tensors:
  x: {dims: [rows, columns], dtype: fp32, role: input}
  y: {dims: [rows, columns], dtype: fp32, role: output}
nodes:
  e: {kind: map, fn: exp, reads: [x]}
  s: {kind: reduce, fn: sum, reads: [e], over: [columns]}
  y: {kind: zip, fn: div, reads: [e, s]}
"""


def test_a_row_that_does_not_fit_is_not_fused_with_its_sum() -> None:
    # Without clusters, whose CTAs would share the row.
    alone = replace(H100, features=tuple(name for name in H100.features if name != "clusters"))
    plan = lower(parse(WIDE.replace("COLUMNS", "131072")), alone)
    assert [call.nodes for call in plan.calls] == [("e", "s"), ("y",)]
    said = "its smallest tile has 524,288 bytes with columns whole, and shared memory holds 232,448"
    assert reasons(plan, "e", "s", "y") == [f"{said}; columns of 58,108 would fit"]
    # What shared memory holds beside a slot's barriers is one row of 58,108 values.
    assert len(lower(parse(WIDE.replace("COLUMNS", "58108")), alone).calls) == 1
    assert len(lower(parse(WIDE.replace("COLUMNS", "58109")), alone).calls) == 2


def test_a_row_that_a_cluster_holds_is_fused_with_its_sum() -> None:
    plan = lower(parse(WIDE.replace("COLUMNS", "131072")), H100)
    assert [call.nodes for call in plan.calls] == [("e", "s", "y")]
    # A row of 16 x 58,108 values is what a cluster of 16 holds.
    assert len(lower(parse(WIDE.replace("COLUMNS", str(16 * 58108))), H100).calls) == 1
    longer = lower(parse(WIDE.replace("COLUMNS", str(16 * 58108 + 1))), H100)
    assert len(longer.calls) == 2
    assert "whole, shared by a cluster of 16 CTAs, and shared memory" in reasons(longer, "e", "s", "y")[0]


SOFTMAX_AND_PRODUCT = """
name: softmax_and_product
extents: {rows: 128, keys: 131072, width: 64}
tensors:
  x: {dims: [rows, width], dtype: fp32, role: input}
  k: {dims: [keys, width], dtype: fp32, role: input}
  v: {dims: [keys, width], dtype: fp32, role: input}
  y: {dims: [rows, width], dtype: fp32, role: output}
nodes:
  s:       {kind: mm,     reads: [x, k], over: [width]}
  top:     {kind: reduce, fn: max, reads: [s], over: [keys]}
  shifted: {kind: zip,    fn: sub, reads: [s, top]}
  e:       {kind: map,    fn: exp, reads: [shifted]}
  total:   {kind: reduce, fn: sum, reads: [e], over: [keys]}
  p:       {kind: zip,    fn: div, reads: [e, total]}
  y:       {kind: mm,     reads: [p, v], over: [keys]}
"""


def test_a_softmax_joins_the_next_product_only_by_rescaling() -> None:
    graph = parse(SOFTMAX_AND_PRODUCT)
    # In parts that are rescaled, and the work of that is in the kernel: of a score itself there are 4 vector ops, since
    # what is divided is the end of a row and not each of its scores.
    call = lower(graph, H100).calls[0]
    assert len(call.nodes) == 7
    assert call.tiling.online[0].extent < 131072
    assert dict(call.work)["vector_ops"] > 4 * 128 * 131072
    # Without its first product there are no parts: a whole row, and its values, would have to be there.
    rest = SOFTMAX_AND_PRODUCT.replace("  s:       {kind: mm,     reads: [x, k], over: [width]}\n", "")
    rest = rest.replace("  k: {dims: [keys, width]", "  s: {dims: [rows, keys]")
    plan = lower(parse(rest), H100, policy="auto")
    assert plan.calls[0].nodes == ("top", "shifted", "e", "total", "p")
    assert "with keys whole, and shared memory holds 232,448; keys of " in reasons(plan, "top", "y")[0]


STEPS = """
name: steps
extents: {batch: 4, h: 64}
tensors:
  n1: {dims: [batch, h], dtype: bf16, role: input}
WEIGHTS
nodes:
  a1: {kind: mm, reads: [n1, wa1], over: [h]}
  a2: {kind: mm, reads: [n1, wa2], over: [h]}
  a3: {kind: mm, reads: [n1, wa3], over: [h]}
  s1: {kind: zip, fn: add, reads: [a1, a2]}
  s2: {kind: zip, fn: add, reads: [s1, a3]}
  n2: {kind: buffer, fn: split, reads: [s2], along: g, to: h one}
  b1: {kind: mm, reads: [n2, wb1], over: [h]}
  b2: {kind: mm, reads: [n2, wb2], over: [h]}
  b3: {kind: mm, reads: [n2, wb3], over: [h]}
"""


def test_products_of_the_same_input_are_joined_in_independent_sets() -> None:
    weights = "\n".join(f"  w{name}: {{dims: [h, g], dtype: bf16, role: weight}}" for name in ("a1", "a2", "a3"))
    weights += "\n" + "\n".join(
        f"  w{name}: {{dims: [h, g], dtype: bf16, role: weight}}" for name in ("b1", "b2", "b3")
    )
    text = STEPS.replace("WEIGHTS", weights).replace("h: 64}", "h: 64, g: 64, one: 1}")
    found = kernels(parse(text), "library")
    assert ("a1", "a2", "a3") in found
    assert ("b1", "b2", "b3") in [tuple(n for n in nodes if n != "n2") for nodes in found]


def test_a_recurrence_over_one_weight_is_not_joined() -> None:
    nodes = "\n".join(
        f"  h{i}: {{kind: mm, reads: [x{i}, w], over: [a]}}\n"
        f"  x{i + 1}: {{kind: buffer, fn: slice, reads: [h{i}], along: b, start: 0, to: a}}"
        for i in range(8)
    )
    text = f"""
name: recurrent
extents: {{rows: 2, a: 16, b: 16}}
tensors:
  x0: {{dims: [rows, a], dtype: bf16, role: input}}
  w: {{dims: [a, b], dtype: bf16, role: weight}}
nodes:
{nodes}
"""
    found = kernels(parse(text), "library")
    assert [sum(name.startswith("h") for name in nodes) for nodes in found] == [1] * 8 + [0]


@pytest.mark.parametrize("policy", policy_names())
def test_every_node_is_in_one_kernel(policy: str) -> None:
    graph = workload("llama-3.1-8b")
    ran = [name for call in lower(graph, H100, policy=policy).calls for name in call.nodes]
    assert sorted(ran) == sorted(node.name for _, node in graph.nodes())


def test_a_buffer_is_read_as_strides_by_its_only_reader() -> None:
    text = """
name: turned
extents: {n: 64, m: 32, p: 16}
tensors:
  x: {dims: [m, n], dtype: bf16, role: input}
  w: {dims: [m, p], dtype: bf16, role: weight}
  y: {dims: [n, p], dtype: bf16, role: output}
nodes:
  t: {kind: buffer, fn: permute, reads: [x], order: n m}
  y: {kind: mm, reads: [t, w]}
"""
    assert kernels(parse(text), "pattern") == [("t",), ("y",)]
    assert kernels(parse(text), "operator") == [("t", "y")]
    plan = lower(parse(text), H100, policy="operator")
    assert dict(plan.calls[0].traffic)["hbm"] == (64 * 32 + 32 * 16 + 64 * 16) * 2
