"""Attention in any tiles gives the numbers of the graph: causal, ragged lengths, split contexts, every schedule."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from gpu_model import load_machine, lower
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.library import workload
from patterns.numbers.execute import execute
from patterns.plan import Plan
from tests.test_laws import check_run

HOPPER = ("attention_serial", "attention_pingpong", "attention_both", "attention_intra_warpgroup", "flash_attention_2")
MACHINES = {"flash_attention_2": "a100_sxm", "attention_tmem": "b200"}


def graph(batch: int, seq: int, context: int, kv_heads: int, group: int, head_dim: int) -> Graph:
    sizes = {"batch": batch, "seq": seq, "context": context, "kv_heads": kv_heads, "group": group, "head_dim": head_dim}
    return workload("attention", overrides={name: str(size) for name, size in sizes.items()})


def assert_equal(plan: Plan, seed: int) -> None:
    """With queries at the last positions of the context, as the model takes them, and anywhere."""
    arrays = random_arrays(plan.graph, seed, plan.members)
    sizes = plan.graph.sizes
    last = sizes["context"] - sizes["seq"] + np.arange(sizes["seq"])
    causal = {"positions": np.tile(last, (sizes["batch"], 1)), "slots": np.arange(sizes["context"])}
    for given in (arrays, {**arrays, **causal}):
        expected, got = evaluate(plan.graph, given, plan.members), execute(plan, given)
        np.testing.assert_allclose(got["y"], expected["y"], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", [*HOPPER, "attention_tmem"])
def test_tiles_of_every_schedule_compute_the_graph(name: str, seed: int) -> None:
    random = Random(f"{name} {seed}")
    seq = random.choice([1, 3, 65, 130, 200])
    made = graph(random.randint(1, 2), seq, seq + random.choice([0, 7, 190]), 2, random.randint(1, 3), 24)
    options = {"tile_m": random.choice([64, 128]), "tile_k": random.choice([32, 64, 112])}
    assert_equal(lower(made, load_machine(MACHINES.get(name, "h100_sxm")), schedule=name, options=options), seed)


@pytest.mark.parametrize("parts", [2, 5])
@pytest.mark.parametrize("seq", [1, 70])
def test_split_causal_attention_computes_the_graph(parts: int, seq: int) -> None:
    """Some parts of some tiles are masked altogether."""
    made = graph(1, seq, 301, 2, 2, 24)
    plan = lower(made, load_machine("h100_sxm"), options={"splits": parts})
    assert [dim for dim, _ in plan.calls[0].tiling.splits] == ["context"]
    assert_equal(plan, parts)


def test_parts_are_put_together_where_memory_holds_nothing() -> None:
    """The lecture's SM warns of what does not fit: the smallest tile is taken for want of a better."""
    graph = workload("attention", context=100)
    machine = load_machine("lecture_sm", {"smem_bytes_per_cta": "64 B"})
    plan = lower(graph, machine, options={"splits": 3})
    assert any(call.combines for call in plan.calls)
    assert plan.warnings
    check_run(plan)
