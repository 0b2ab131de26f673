"""Sections: where a block is cut that is too large for the fabric, and what fits nowhere."""

from __future__ import annotations

from collections.abc import Callable
from re import findall

import numpy as np
import pytest

from patterns.errors import DoesNotFit
from patterns.evaluate import evaluate, random_arrays
from patterns.library import workload
from patterns.numbers.execute import execute
from patterns.plan import Plan
from patterns.read import parse_graph
from rdu_model import Metapipeline, load_machine, lower, lower_metapipe
from rdu_model.pipe import Metapipe

# Eight maps and in the middle a sum and what spreads it again: a chain whose narrow place is behind the sum.
CHAIN = """
name: chain
extents: {n: 64, m: 64}
tensors:
  x: {dims: [n, m], dtype: bf16, role: input}
  b: {dims: [n, m], dtype: bf16, role: input}
  y: {dims: [n, m], dtype: bf16, role: output}
nodes:
  a1: {kind: map, fn: neg, reads: [x]}
  a2: {kind: map, fn: abs, reads: [a1]}
  a3: {kind: map, fn: square, reads: [a2]}
  s:  {kind: reduce, fn: sum, reads: [a3], over: [n, m]}
  r:  {kind: map, fn: neg, reads: [s]}
  z:  {kind: zip, fn: mul, reads: [b, r]}
  z2: {kind: map, fn: neg, reads: [z]}
  y:  {kind: map, fn: abs, reads: [z2]}
"""


def chain_on(pmus: int) -> Plan:
    """The chain on unit with so many PMUs, which one tile of each buffer fits."""
    return lower(parse_graph(CHAIN, "chain.yaml", {}), load_machine("unit", {"pmus": str(pmus)}), mode="fused")


def test_what_fits_is_one_section() -> None:
    plan = chain_on(256)
    assert [call.nodes for call in plan.calls] == [("a1", "a2", "a3", "s", "r", "z", "z2", "y")]
    assert plan.refusals == ()


def test_what_fits_is_cut_where_that_is_much_faster_with_its_calls() -> None:
    graph = workload("llama-2-7b", phase="prefill", context=4096, members=8)
    cheap, dear = (
        lower(graph, load_machine("sn40l", {"hardware_execute_ps": c}), mode="fused", members=8)
        for c in ("8 us", "1 s")
    )
    assert [sum(call.block == "decoder" for call in plan.calls) for plan in (cheap, dear)] == [2, 1]
    (reason,) = (refusal.reason for refusal in cheap.refusals)
    assert reason.startswith("cut into 2 sections: predicted to take ")
    took, one = (int(found.replace(",", "")) for found in findall(r"[\d,]{6,}", reason))
    assert took < 0.9 * one
    moved = [
        sum(dict(call.work)["hbm_bytes"] for call in plan.calls if call.block == "decoder") for plan in (cheap, dear)
    ]
    assert moved[1] > 1.5 * moved[0]
    assert dear.refusals == ()


def test_a_cut_is_where_the_fewest_bytes_cross() -> None:
    # Nine buffers in one section, each a PMU. With seven it must be cut, and s or r are two bytes, all others 8 KiB.
    plan = chain_on(7)
    assert len(plan.calls) == 2
    assert plan.calls[0].nodes in (("a1", "a2", "a3", "s"), ("a1", "a2", "a3", "s", "r"))
    whole, cut = (sum(dict(call.work)["hbm_bytes"] for call in p.calls) for p in (chain_on(256), plan))
    assert cut == whole + 2 * 2
    assert "cut into 2 sections: one section needs" in plan.refusals[0].reason
    assert "one of 2 sections" in plan.calls[0].reason


def test_fewer_pmus_mean_more_sections_and_the_same_numbers() -> None:
    plan = chain_on(4)
    assert len(plan.calls) > 2
    arrays = random_arrays(plan.graph, 0)
    np.testing.assert_allclose(execute(plan, arrays)["y"], evaluate(plan.graph, arrays)["y"])


def test_pcus_run_out_too() -> None:
    # One PCU for each stage at least: 8 stages in sections of at most 3.
    plan = lower(parse_graph(CHAIN, "chain.yaml", {}), load_machine("unit", {"pcus": "3"}), mode="fused")
    assert max(len(call.nodes) for call in plan.calls) <= 3
    # With dear calls there are as few sections as can be.
    machine = load_machine("unit", {"pcus": "3", "hardware_execute_ps": "1 ms"})
    dear = lower(parse_graph(CHAIN, "chain.yaml", {}), machine, mode="fused")
    assert len(dear.calls) == 3 <= len(plan.calls)
    assert "PCUs" in plan.refusals[0].reason


def test_a_loop_needs_its_whole_block_in_one_section() -> None:
    small = {
        "layers": "3",
        "hidden": "64",
        "model_heads": "4",
        "model_kv_heads": "2",
        "model_ffn": "96",
        "model_vocabulary": "50",
        "context": "16",
    }
    graph = workload("llama", overrides=small)
    plan = lower(graph, load_machine("unit", {"pmus": "40"}), mode="looped")
    layer = [call for call in plan.calls if call.block == "decoder"]
    assert len(layer) > 1
    assert {(call.count, call.iterations) for call in layer} == {(3, 1)}
    reasons = [refusal.reason for refusal in plan.refusals]
    assert any(reason.startswith("not looped: one section needs") for reason in reasons)
    arrays = random_arrays(graph, 0)
    found, expected = execute(plan, arrays), evaluate(graph, arrays)
    assert (found["next_token"] == expected["next_token"]).all()


MIB = 2**20


def three_stages(*pcus: int) -> Metapipe:
    """Three stages with fixed PCUs: the first makes 8 MiB, the second 64 MiB, the third a sum of these."""
    p = Metapipeline("three")
    x, factors = p.input_region("x", "m n", (4096, 1024)), p.input_region("factors", "e", (8,))
    y = p.output_region("y", "m n", (4096, 1024))
    a, b, c = pcus
    with p.metapipe(64):
        first = p.map("neg", p.load_tile(x, (64, 1024)), pcus=a, name="a")
        second = p.zip("mul", first, p.load_tile(factors, (8,)), dims="m n e", pcus=b, name="b")
        p.store_tile(y, p.reduce("sum", second, "e", pcus=c, name="c"))
    return p.build()


def test_a_metapipe_of_too_many_pcus_is_cut_where_the_fewest_bytes_cross() -> None:
    # 1,200 PCUs on 1,040, of which stages may have 936. Both a + b and b + c fit.
    machine = load_machine("sn40l", {"hbm_bytes_per_s": "1.6 TB/s", "hbm_efficiency": "1"})
    metapipe = three_stages(400, 500, 300)
    plan = lower_metapipe(metapipe, machine)
    assert [call.nodes for call in plan.calls] == [("a",), ("b", "c")]
    assert "cut into 2 sections: one section needs 1,200 PCUs, there are 936" in plan.refusals[0].reason
    needed = "ends before 'b': with it 900 PCUs"
    assert needed not in plan.calls[0].reason  # a + b would fit: 64 MiB crossing is why they are apart
    assert "ends before 'b', where a cut costs least" in plan.calls[0].reason
    moved = sum(dict(call.work)["hbm_bytes"] for call in plan.calls)
    # In, the 8 MiB between twice, out, and the factors.
    assert moved == 8 * MIB + 2 * 8 * MIB + 8 * MIB + 16
    extra_s = 2 * 8 * MIB / 1.6e12
    assert extra_s == pytest.approx(10.486e-6, rel=1e-4)
    groups = [call.reason.split("; ")[-1] for call in plan.calls]
    assert [text.split(" PCUs")[0] for text in groups] == ["400", "800"]
    arrays = random_arrays(metapipe.graph, 0)
    np.testing.assert_allclose(execute(plan, arrays)["y"], evaluate(metapipe.graph, arrays)["y"])
    one = lower_metapipe(three_stages(300, 300, 300), machine)
    assert [call.nodes for call in one.calls] == [("a", "b", "c")]


def test_a_stage_of_more_pcus_than_there_are_fits_nowhere() -> None:
    with pytest.raises(DoesNotFit, match=r"stage 'b' .*needs 1,100 PCUs, there is 936; pcus=936 is the most"):
        lower_metapipe(three_stages(1, 1100, 1), load_machine("sn40l"))


ROLLED = """
name: rolled
extents: {rows: 4, n: 64000000}
tensors:
  x: {dims: [rows, n], dtype: bf16, role: input}
  y: {dims: [rows, n], dtype: bf16, role: output}
nodes:
  shifted: {kind: buffer, fn: roll, reads: [x], along: n, by: 1}
  y:       {kind: zip, fn: add, reads: [x, shifted]}
"""


def test_a_graph_that_fits_no_section(golden: Callable[[str, str], None]) -> None:
    # To roll a row all of it must be there: 128 MB in PMUs of 16 MiB.
    with pytest.raises(DoesNotFit) as caught:
        lower(parse_graph(ROLLED, "rolled.yaml", {}), load_machine("unit"), mode="fused")
    golden("rdu/fits_no_section.txt", f"{caught.value}\n")


def test_a_fabric_with_fewer_pmus_than_a_node_has_buffers() -> None:
    with pytest.raises(DoesNotFit, match=r"node 'y' .*needs 3 PMUs, there is 2; a buffer takes at least one"):
        lower(workload("softmax"), load_machine("unit", {"pmus": "2"}), mode="fused")


def test_weights_that_do_not_fit_a_socket(golden: Callable[[str, str], None]) -> None:
    graph = workload("llama-3.1-405b", context=4096)
    with pytest.raises(DoesNotFit) as caught:
        lower(graph, load_machine("sn40l", {"ddr_bytes": "512 GiB"}))
    golden("rdu/weights_do_not_fit.txt", f"{caught.value}\n")
    # 812 GB over 2 sockets fit.
    lower(
        workload("llama-3.1-405b", context=4096, members=2), load_machine("sn40l", {"ddr_bytes": "512 GiB"}), members=2
    )


def test_what_lacks_streams_is_told_which_parameters_would_help() -> None:
    few = load_machine("sn40l", {"agcus": "1", "agcu_streams": "1"})
    with pytest.raises(DoesNotFit) as caught:
        lower(workload("softmax"), few)
    assert str(caught.value) == (
        "node 'e' (alone in a section of sn40l) does not fit: needs 2 AGCU streams, there is 1; its part is 2 of them; "
        "a machine with more agcus or agcu_streams would help; none of 3 tilings of 3 sections with it fits: 3 for "
        "AGCU streams (at least 2 of 1); agcus=3 or agcu_streams=3 would do"
    )
