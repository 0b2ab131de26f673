"""Cuts of a block: places between which an attention kernel is cheaper are closed, which cuts off no better cut."""

from __future__ import annotations

import pytest

from gpu_model import load_machine
from gpu_model.asked import Ask
from gpu_model.fusion import epilogue, library, operator
from gpu_model.joining.kernel_cost import Costs, device_time, pace
from gpu_model.joining.legal import Grouping, separate
from gpu_model.joining.partition import cheapest, orders
from gpu_model.policy import joined
from patterns.graph import Graph
from patterns.library import workload

GAP_CYCLES, HOST_CYCLES = 1373, 3843

DECODES = [
    {"batch": 1, "context": 1024},
    {"batch": 8, "context": 4096},
    {"batch": 64, "context": 4096},
    {"batch": 1, "context": 65536},
]


def known(graph: Graph, machine: str) -> list[Grouping]:
    ask = Ask(load_machine(machine), gap_cycles=GAP_CYCLES, host_cycles=HOST_CYCLES)
    alone = separate(graph, max(graph.blocks, key=lambda block: len(block.nodes)), ask)
    return [alone, *(joined(alone, policy.fuse) for policy in (library, epilogue, operator))]


def cuts(groupings: list[Grouping]) -> tuple[list[list[tuple[str, ...]]], int]:
    """The kernels of the cheapest cuts, and how many sorts of kernels were laid out for them."""
    costs = Costs(groupings[0])
    orders_of = orders(groupings)
    found = [cheapest(order, groupings, costs, weigh) for order in orders_of for weigh in (device_time, pace)]
    return [[group.names for group in grouping.groups()] for grouping in found], len(costs.laid_out)


@pytest.mark.parametrize("machine", ["a100_sxm", "h100_sxm"])
@pytest.mark.parametrize(
    ("name", "extents"),
    [
        *(("gqa_decode", decode) for decode in DECODES),
        ("llama", {"batch": 8, "context": 4096}),
        ("llama", {"batch": 1, "context": 17}),
        ("attention", {}),
        ("mla_decode", {"context": 3000}),
        ("sliding_window_attention", {}),
        ("kv_cache_int8", {}),
    ],
)
def test_closed_places_cut_off_no_better_cut(
    name: str, extents: dict[str, int], machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    groupings = known(workload(name, overrides=extents), machine)
    found, _ = cuts(groupings)
    monkeypatch.setattr("gpu_model.joining.partition._closed", lambda *_: frozenset())
    assert found == cuts(groupings)[0]


def test_what_attention_is_made_of_is_hardly_laid_out(monkeypatch: pytest.MonkeyPatch) -> None:
    groupings = known(workload("gqa_decode", overrides=DECODES[1]), "h100_sxm")
    _, few = cuts(groupings)
    monkeypatch.setattr("gpu_model.joining.partition._closed", lambda *_: frozenset())
    _, many = cuts(groupings)
    assert few < many // 2


def test_attention_is_cut_where_its_parts_take_less() -> None:
    found, _ = cuts(known(workload("gqa_decode", overrides=DECODES[2]), "a100_sxm"))
    assert all(len(kernels) > 1 for kernels in found)
