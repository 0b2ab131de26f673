"""LoRA: the adapters that a batch finds are what moves, however little they compute."""

from __future__ import annotations

import numpy as np
import pytest

from gpu_model import load_machine, lower
from patterns.count import compulsory, node_demand
from patterns.evaluate import evaluate, random_arrays
from patterns.library import workload
from patterns.run import run_plan

SMALL = {"batch": 5, "inner": 6, "outer": 7, "rank": 2, "adapters": 4, "distinct_adapters": 3}


def test_every_request_goes_through_its_own_adapter() -> None:
    graph = workload("lora", overrides=SMALL)
    arrays = random_arrays(graph, seed=1)
    arrays["adapter"] = np.array([2, 0, 2, 3, 0])
    y = evaluate(graph, arrays)["y"]
    for row, adapter in enumerate(arrays["adapter"]):
        update = arrays["down"][adapter] @ arrays["up"][adapter]
        assert y[row] == pytest.approx(arrays["x"][row] @ (arrays["w"] + update))


@pytest.mark.parametrize(("distinct", "adapter_bytes"), [(1, 483_328), (32, 15_466_496)])
def test_adapters_are_few_flops_and_many_bytes(distinct: int, adapter_bytes: int) -> None:
    graph = workload("lora", overrides={"distinct_adapters": distinct})
    flops = {node.name: node_demand(graph, node).matrix_flops for _, node in graph.nodes()}
    assert flops["base"] == 2 * 32 * 4096 * 11008 == 2_885_681_152
    assert flops["shrunk"] + flops["grown"] == 2 * 32 * 16 * (4096 + 11008) == 15_466_496
    needed = compulsory(graph)
    assert needed.weight_bytes == 4096 * 11008 * 2 == 90_177_536
    assert needed.gathered_bytes == distinct * 16 * (4096 + 11008) * 2 == adapter_bytes


def test_adapters_take_two_launches_more_and_a_time_that_is_that_of_their_bytes() -> None:
    """0.54 % more FLOPs and 17.15 % more bytes of weights, and each kernel has what a launch takes beside them."""
    machine = load_machine("h100_sxm")
    alone = lower(workload("gemm", overrides={"m": 32, "n": 11008, "k": 4096}), machine)
    (base_ps,) = [call.duration_ps for call in run_plan(alone, spans=False).calls]
    more = {}
    for distinct in (1, 32):
        plan = lower(workload("lora", overrides={"distinct_adapters": distinct}), machine)
        assert len(plan.calls) == len(alone.calls) + 2
        more[distinct] = sum(call.duration_ps for call in run_plan(plan, spans=False).calls) - base_ps
    assert more[32] > 15_466_496 / 90_177_536 * base_ps
    # 31 adapters more of 483,328 bytes, at no more than 3.35 TB/s; their FLOPs are the same.
    assert more[32] - more[1] > 31 * 483_328 / 3.35
    # One adapter's bytes take 0.144 us. What else there is, is starting and ending two kernels.
    assert more[1] > 10 * 483_328 / 3.35
