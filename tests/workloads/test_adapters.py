"""LoRA: the adapters that a batch finds are what moves, however little they compute."""

from __future__ import annotations

import numpy as np
import pytest

from patterns.count import compulsory, node_demand
from patterns.evaluate import evaluate, random_arrays
from patterns.library import workload

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
