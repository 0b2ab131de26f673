"""What would make a graph fit that fits no section: the values that messages name do, and what was tried is counted."""

from __future__ import annotations

import re

import pytest

from patterns.errors import DoesNotFit
from patterns.library import workload
from rdu_model import load_machine, lower

FEW = {
    "pmus": ("softmax", {"pmus": "1"}, 3),
    "agcus": ("softmax", {"agcus": "1", "agcu_streams": "1"}, 3),
    "agcu_streams": ("softmax", {"agcus": "1", "agcu_streams": "1"}, 3),
    "mesh_links": ("softmax", {"mesh_links": "1", "mesh_flows": "1"}, 7),
    "mesh_flows": ("softmax", {"mesh_links": "1", "mesh_flows": "1"}, 7),
}


def refused(graph: str, parameters: dict[str, str], mode: str = "unfused") -> DoesNotFit:
    with pytest.raises(DoesNotFit) as caught:
        lower(workload(graph), load_machine("sn40l", parameters), mode=mode)
    return caught.value


@pytest.mark.parametrize("name", FEW)
def test_the_value_that_is_named_does_and_one_less_does_not(name: str) -> None:
    graph, parameters, least = FEW[name]
    misfit = refused(graph, parameters)
    assert f"{name}={least}" in misfit.nearest
    assert str(misfit).endswith(f"; {misfit.nearest}")
    lower(workload(graph), load_machine("sn40l", {**parameters, name: str(least)}), mode="unfused")
    refused(graph, {**parameters, name: str(least - 1)})


def test_a_larger_pmu_is_named_where_it_does() -> None:
    small = {"pmus": "64", "pmu_bytes": "1 KiB"}
    misfit = refused("lstm", small)
    (kib,) = re.findall(r"or pmu_bytes=(\d+ KiB) would do$", misfit.nearest)
    lower(workload("lstm"), load_machine("sn40l", {**small, "pmu_bytes": kib}), mode="unfused")


def test_fewer_pmus_than_are_needed_as_tiled_do_with_other_tiles() -> None:
    misfit = refused("lstm", {"pmus": "64", "pmu_bytes": "1 KiB"})
    (pmus,) = re.findall(r"^with other tiles pmus=(\d+) or", misfit.nearest)
    assert int(pmus) < misfit.needed


def test_sections_and_tilings_that_were_tried_are_counted() -> None:
    text = str(refused("softmax", {"pmus": "1"}, mode="fused"))
    # With the first of three nodes there are three sections; of one node nothing else was tried.
    assert "; none of 3 tilings of 3 sections with it fits: 3 for PMUs (at least 2 of 1); " in text
    # Three have the last, too.
    last = str(refused("softmax", {"pmus": "2"}, mode="fused"))
    assert last.startswith("node 'y' ")
    assert "; none of 3 tilings of 3 sections with it fits: 3 for PMUs (at least 3 of 2); " in last
    assert "none of" not in str(refused("softmax", {"pmus": "1"}))
    assert "; none of 3 tilings fits: PMUs (at least " in str(refused("lstm", {"pmus": "575", "pmu_bytes": "1 KiB"}))


def test_a_block_of_which_no_section_has_two_nodes_that_work_is_cut_everywhere() -> None:
    plan = lower(workload("llama-3.2-1b", context=256), load_machine("sn40l", {"pcus": "1"}), mode="fused")
    layer = next(block for block in plan.graph.blocks if block.count > 1)
    assert len([call for call in plan.calls if call.block == layer.name]) > len(layer.nodes) // 2
