"""What fusing saves, item by item: calls, off-chip bytes, and work that it issues besides."""

from __future__ import annotations

from dataclasses import replace

import gpu_model
import rdu_model
from patterns.counting.gains import Gain, gains
from patterns.graph import Graph
from patterns.library import workload
from patterns.plan import Plan
from patterns.read import parse_graph

H100 = gpu_model.load_machine("h100_sxm")


def apart(graph: Graph) -> Plan:
    return gpu_model.lower(graph, H100, policy="pattern")


def test_a_norm_with_its_residual_saves_what_stays_on_chip() -> None:
    graph = workload("add_rms_norm", overrides={"rows": "512", "hidden": "4096"})
    (gain,) = gains(gpu_model.lower(graph, H100), apart(graph))
    together = dict(gpu_model.lower(graph, H100).calls[0].traffic)["hbm"]
    assert together == 4 * 512 * 4096 * 2 + 8192 == 16_785_408
    alone = sum(dict(call.traffic)["hbm"] for call in apart(graph).calls)
    assert gain == Gain("add_rms_norm.stream..y", 5, alone - together, 0)


def test_the_same_passes_in_one_kernel_save_calls_alone() -> None:
    # A kernel that goes over its tensors as often as its parts did: what was read and written is still.
    graph = workload("add_rms_norm", overrides={"rows": "512", "hidden": "4096"})
    plan, parts = gpu_model.lower(graph, H100), apart(graph)
    traffic = sum(dict(call.traffic)["hbm"] for call in parts.calls)
    passes = replace(plan, calls=(replace(plan.calls[0], traffic=(("hbm", traffic),)),))
    (gain,) = gains(passes, parts)
    assert (gain.launches, gain.num_bytes, gain.extra_work) == (5, 0, 0)


def test_work_that_is_done_again_is_told() -> None:
    # A norm before a product is made again for each tile of the product's columns.
    graph = workload("attention", overrides={"seq": "256", "context": "256"})
    (gain,) = gains(gpu_model.lower(graph, H100), apart(graph))
    assert gain.launches == 8
    assert gain.num_bytes > 0
    fused = dict(gpu_model.lower(graph, H100).calls[0].work)
    issued = sum(fused[name] for name in ("matrix_flops", "vector_ops", "special_ops"))  # type: ignore[index]
    alone = sum(a for call in apart(graph).calls for name, a in call.work if name in fused and "bytes" not in name)
    assert gain.extra_work == issued - alone


TWO = """
name: two
extents: {n: 4096}
tensors:
  x: {dims: [n], dtype: fp32, role: input}
nodes:
  a: {kind: map, fn: exp, reads: [x]}
  b: {kind: map, fn: exp, reads: [a]}
"""


def test_a_section_saves_the_tensor_between_its_stages_twice() -> None:
    graph = parse_graph(TWO)
    machine = rdu_model.load_machine("sn40l")
    one, two = (rdu_model.lower(graph, machine, mode=mode) for mode in ("fused", "unfused"))
    assert list(gains(one, two)) == [Gain(one.calls[0].name, 1, 2 * 4096 * 4, 0)]
    assert list(gains(two, two)) == []
