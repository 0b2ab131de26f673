"""The estimate of ways: nothing where ways cost nothing, more where they are longer, and near what placing finds."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from patterns.library import workload
from patterns.pipeline.simulate import simulate
from rdu_model import Choices, compile_graph, load_machine
from rdu_model.emit import emit
from rdu_model.floor.compared import Compared, compare_ways
from rdu_model.floor.estimate import estimate
from rdu_model.machine import Machine
from rdu_model.section import Section

SN40L = load_machine("sn40l")
SMALL = {
    "layers": "2",
    "hidden": "1024",
    "model_heads": "8",
    "head_dim": "64",
    "model_kv_heads": "4",
    "model_ffn": "1536",
    "model_vocabulary": "4000",
    "context": "256",
}


@cache
def section_of(name: str, machine: Machine = SN40L) -> Section:
    """The largest section of a graph, fused."""
    graph = workload(name, overrides=SMALL) if name == "llama" else workload(name)
    sections = [one.section for one in compile_graph(graph, machine, Choices("fused")).sections]
    return max(sections, key=lambda section: len(section.buffers))


@cache
def compared(name: str) -> Compared:
    """It, estimated and placed."""
    return compare_ways(section_of(name))


def cycles(section: Section) -> int:
    """Of its call."""
    return simulate(emit(section), spans=False).total_cycles


def test_sections_have_estimated_ways_by_default() -> None:
    section = section_of("attention")
    assert section.placed is None
    assert section.wires == estimate(section).wires
    assert section.wires.keys() == {buffer.link.name for buffer in section.buffers}
    assert all(wire.hops >= 1 and wire.latency_cycles >= wire.hops for wire in section.wires.values())


@pytest.mark.parametrize("name", ["softmax", "gemm", "attention"])
def test_on_unit_ways_cost_nothing(name: str) -> None:
    section = section_of(name, load_machine("unit"))
    assert {wire.latency_cycles for wire in section.wires.values()} == {0}
    assert cycles(section) == cycles(replace(section, wires={}))


@pytest.mark.parametrize("name", ["softmax", "gemm", "attention", "llama"])
def test_a_call_is_never_faster_with_ways_than_without(name: str) -> None:
    section = section_of(name)
    assert cycles(section) >= cycles(replace(section, wires={}))


@pytest.mark.parametrize("name", ["softmax", "gemm", "attention"])
def test_slower_switches_and_borders_add_latency(name: str) -> None:
    def latency(**overrides: str) -> float:
        section = section_of(name)
        changed = replace(section, machine=load_machine("sn40l", overrides), wires={})
        return sum(wire.latency_cycles for wire in estimate(changed).wires.values())

    assert latency() < latency(hop_cycles="2 cycles") < latency(hop_cycles="3 cycles")
    assert latency(crossing_cycles="0 cycles") < latency() < latency(crossing_cycles="30 cycles")


def test_a_narrow_mesh_slows_a_product_down() -> None:
    def time(links: str) -> int:
        section = section_of("gemm_bias_act")
        changed = replace(section, machine=load_machine("sn40l", {"mesh_links": links}), wires={})
        return cycles(replace(changed, wires=estimate(changed).wires))

    assert time("1") > time("2") >= time("8")


@pytest.mark.parametrize("name", ["softmax", "gemm", "attention", "llama"])
def test_no_way_is_faster_than_a_link_for_each_of_its_pmus(name: str) -> None:
    section = section_of(name)
    link = SN40L.mesh_links * SN40L.mesh_bytes_per_cycle
    for buffer in section.buffers:
        wire = section.wire(buffer.link.name)
        assert wire.bytes_per_cycle <= link * buffer.pmus
        assert all(pace <= link * buffer.pmus for pace in wire.read_bytes_per_cycle)


def test_what_iterations_hand_on_has_a_way_of_its_own() -> None:
    graph = workload("llama", overrides={**SMALL, "layers": "9"})
    sections = [one.section for one in compile_graph(graph, SN40L, Choices("looped")).sections]
    section = next(section for section in sections if section.flow.metapipe.carries)
    names = {carry.name for carry in section.flow.metapipe.carries}
    assert all(section.wires[name].latency_cycles > 0 for name in names)
    # Every iteration but the last hands on what is under way for so much longer.
    late = {name: replace(section.wires[name], latency_cycles=100_000) for name in names}
    apart = cycles(replace(section, wires={**section.wires, **late})) - cycles(section)
    assert apart >= 8 * (100_000 - max(section.wires[name].latency_cycles for name in names))


@pytest.mark.parametrize("name", ["softmax", "attention", "llama"])
def test_the_estimate_is_near_a_placement(name: str) -> None:
    found = compared(name)
    assert found.estimated.mean_hops == pytest.approx(found.placed.mean_hops, rel=0.5)
    assert found.estimated.mean_latency_cycles == pytest.approx(found.placed.mean_latency_cycles, rel=0.5)
    assert found.estimated.cycles == pytest.approx(found.placed.cycles, rel=0.2)
    assert found.free_cycles <= min(found.estimated.cycles, found.placed.cycles)


def test_looped_decoders_are_jumped_over_as_without_ways() -> None:
    graph = workload("llama-3.1-8b", context=4096, members=8)
    section = compile_graph(graph, SN40L, Choices("looped"), 8).sections[1].section
    found = simulate(emit(section), spans=False)
    free = simulate(emit(replace(section, wires={})), spans=False)
    # What runs ahead takes a few layers to settle; the rest is one period and a count.
    assert free.total_cycles <= found.total_cycles < 1.05 * free.total_cycles
    assert found.steps <= 2 * free.steps


def test_estimates_of_any_number_of_units() -> None:
    for pcus in ("130", "520", "2080"):
        section = section_of("softmax", load_machine("sn40l", {"pcus": pcus}))
        assert all(wire.hops >= 1 for wire in section.wires.values())
