"""Placement: every unit once and of its kind, neighbours near, the same for the same seed; what it does to times."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from random import Random

import numpy as np
import pytest

from patterns.errors import DoesNotFit
from patterns.graph import Graph
from patterns.library import workload
from patterns.pipeline.simulate import simulate
from rdu_model import Choices, Metapipeline, compile_graph, compile_metapipe, load_machine, lower_metapipe
from rdu_model.emit import emit
from rdu_model.floor.anneal import Board, Pins, anneal, length
from rdu_model.floor.layout import place_and_route
from rdu_model.floor.placement import Placed, Route
from rdu_model.floor.traffic import Traffic, held_by, traffic_of
from rdu_model.metapipe import steps_of
from rdu_model.pipe import Metapipe
from rdu_model.section import Section
from tests.random_graphs import random_graph

SMALL = {
    "layers": "3",
    "hidden": "512",
    "model_heads": "4",
    "head_dim": "64",
    "model_kv_heads": "2",
    "model_ffn": "768",
    "model_vocabulary": "1000",
    "context": "64",
}


def graph_named(name: str) -> Graph:
    """A graph, the decoder small."""
    return workload(name, overrides=SMALL) if name == "llama" else workload(name)


@cache
def placed(name: str, seed: int = 0) -> tuple[Section, ...]:
    """Sections of a graph on sn40l's grid."""
    compiled = compile_graph(graph_named(name), load_machine("sn40l"), Choices("fused", placement="full", seed=seed))
    return tuple(one.section for one in compiled.sections)


def of(section: Section) -> Placed:
    """Where it is."""
    assert section.placed is not None
    return section.placed


@pytest.mark.parametrize("name", ["softmax", "gemm", "attention", "llama"])
def test_every_unit_has_a_cell_of_its_kind_for_itself(name: str) -> None:
    for section in placed(name):
        fabric, placement = of(section).fabric, of(section).placement
        pcus = [cell for cells in placement.pcus.values() for cell in cells]
        pmus = [cell for cells in placement.pmus.values() for cell in cells]
        assert len(set(pcus)) == len(pcus) == section.pcus
        assert len(set(pmus)) == len(pmus) == section.pmus
        assert {fabric.kinds[cell] for cell in pcus} <= {"pcu"}
        assert {fabric.kinds[cell] for cell in pmus} <= {"pmu"}
        used = [number for numbers in placement.agcus.values() for number in numbers]
        assert max(used.count(number) for number in set(used)) <= section.machine.agcu_streams
        assert set(used) <= set(range(section.machine.agcus))


@pytest.mark.parametrize("name", ["softmax", "gemm", "attention", "llama"])
def test_every_flow_has_a_route_between_its_ends(name: str) -> None:
    for section in placed(name):
        found, traffic = of(section), traffic_of(section)
        cell = cells_of(found, traffic)
        assert len(found.routes.routes) == len(traffic.nets)
        for net, way in zip(traffic.nets, found.routes.routes, strict=True):
            assert (net.link, net.reader) == (way.link, way.reader)
            assert cell.get(net.source, way.source) == way.source
            assert {cell[unit] for unit in net.targets if unit in cell} <= set(way.targets)
            assert {to for _, to in way.edges} | {way.source} >= set(way.targets)


def cells_of(found: Placed, traffic: Traffic) -> dict[int, int]:
    """The cell of each PCU and PMU, by number."""
    groups = ((traffic.pcus, found.placement.pcus), (traffic.pmus, found.placement.pmus))
    return {
        unit: cell
        for units, cells in groups
        for name in units
        for unit, cell in zip(units[name], cells[name], strict=True)
    }


@pytest.mark.parametrize("name", ["softmax", "attention", "llama"])
def test_bytes_that_are_read_and_written_are_those_of_the_flows(name: str) -> None:
    for section in placed(name):
        traffic, flow = traffic_of(section), section.flow
        for held in held_by(section):
            written = [net for net in traffic.nets if net.link == held.name and not net.reader]
            cycles = {traffic.rates.cycles[net.phase] for net in written}
            if written and held.source in section.groups:
                made = flow.asked[held.source].touched(flow.sizes_at(held.source))[1] * flow.tiles_of(held.source)
                assert sum(net.bytes_per_cycle for net in written) * cycles.pop() == pytest.approx(made)


@pytest.mark.parametrize("name", ["softmax", "attention", "llama"])
def test_annealing_brings_neighbours_near(name: str) -> None:
    section = max(placed(name), key=lambda section: section.pcus)
    hops = of(section).byte_hops
    assert hops["annealed"] < hops["start"] < hops["random"]
    assert hops["annealed"] < hops["random"] / 3


def test_the_same_seed_gives_the_same_and_another_another() -> None:
    machine, choices = load_machine("sn40l"), Choices("fused", placement="full")
    again = compile_graph(graph_named("softmax"), replace(machine, name="again"), choices).sections[0].section
    first, other = placed("softmax")[0], placed("softmax", seed=1)[0]
    assert of(again).placement == of(first).placement
    assert again.wires == first.wires
    assert of(other).placement != of(first).placement


@pytest.mark.parametrize("name", ["softmax", "gemm", "attention", "llama"])
def test_ways_never_make_a_call_faster_than_without_them(name: str) -> None:
    for section in placed(name):
        free = simulate(emit(replace(section, wires={})), spans=False).total_cycles
        assert simulate(emit(section), spans=False).total_cycles >= free


def matmul(rows: int, columns: int) -> Metapipe:
    """The lecture's nested product, of 512 x 256."""
    p = Metapipeline("matmul")
    a, b = p.input_region("A", "m k", (512, 64)), p.input_region("B", "k n", (64, 256))
    c = p.output_region("C", "m n", (512, 256))
    with p.metapipe(steps_of(512, rows)):
        a_tile = p.load_tile(a, (rows, 64))
        with p.metapipe(steps_of(256, columns)):
            p.store_tile(c, p.mat_mul(a_tile, p.load_tile(b, (64, columns), row_par=4)))
    return p.build()


def test_a_written_metapipe_is_placed_too() -> None:
    machine = load_machine("sn40l")
    section = compile_metapipe(matmul(128, 64), machine, placement="full").sections[0].section
    assert len(of(section).placement.agcus["load B"]) == 4
    calls = [lower_metapipe(matmul(128, 64), machine, placement=how).calls[0] for how in ("estimate", "full")]
    times = [simulate(call.program).total_cycles for call in calls]
    assert times[0] == pytest.approx(times[1], rel=0.2)
    again = lower_metapipe(matmul(128, 64), machine, placement="full", seed=0).calls[0]
    assert again.program == calls[1].program


def test_pcus_that_share_out_a_product_stand_in_rows_and_columns() -> None:
    # PCUs of a row of the product get the same rows of A: they stand in few rows of the grid, those of a column in few
    # columns, far fewer than if they stood anywhere.
    section = placed("gemm")[0]
    placement, fabric = of(section).placement, of(section).fabric
    traffic = traffic_of(section)
    (name,) = placement.pcus
    cell = dict(zip(traffic.pcus[name], placement.pcus[name], strict=True))
    for along, axis in (("row", 0), ("column", 1)):
        groups = {net.targets for net in traffic.nets if net.along == along}
        lines = [len({fabric.row_column(cell[unit])[axis] for unit in targets}) / len(targets) for targets in groups]
        assert sum(lines) / len(lines) < 0.6


def test_too_many_streams_for_the_agcus_are_refused() -> None:
    section = compile_metapipe(_two_inputs(), load_machine("sn40l")).sections[0].section
    few = replace(section, machine=load_machine("sn40l", {"agcus": "3", "agcu_streams": "1"}))
    with pytest.raises(DoesNotFit, match="needs 4 AGCU streams, there is 3"):
        place_and_route(few, 0)


def _two_inputs() -> Metapipe:
    p = Metapipeline("sum")
    x, y, z = (p.input_region(name, "t", (64,)) for name in "xyz")
    out = p.output_region("out", "t", (64,))
    p.store_tile(out, p.zip("add", p.zip("add", p.load_tile(x, (64,)), p.load_tile(y, (64,))), p.load_tile(z, (64,))))
    return p.build()


def test_annealing_finds_the_best_place_of_a_chain() -> None:
    # Eight units in a chain, of two kinds in turn, on a row of eight cells: in order, or in reverse, all are near.
    chain = [(n, unit) for n in range(7) for unit in (n, n + 1)]
    net, unit = (np.array(part, dtype=np.int64) for part in zip(*chain, strict=True))
    weights = np.ones(len(chain))
    pins = Pins(net, unit, (weights, weights), 7, 8, 8)
    board = Board(np.zeros(8), np.arange(8.0), (np.arange(0, 8, 2), np.arange(1, 8, 2)), 8, 1)
    start = np.array([4, 5, 2, 1, 6, 7, 0, 3], dtype=np.int64)
    assert length(pins, board, start) > 2 * 7
    best = min((anneal(pins, board, start, seed, steps=600) for seed in range(3)), key=lambda c: length(pins, board, c))
    # Each net counts from both of its ends.
    assert length(pins, board, best) == 2 * 7
    assert sorted(best) == list(range(8))
    assert {int(cell) % 2 for cell in best[::2]} == {0}


def depths(way: Route) -> dict[int, int]:
    """Links from the source of a route to each cell of its tree."""
    found = {way.source: 0}
    left = list(way.edges)
    while left:
        for edge in [edge for edge in left if edge[0] in found]:
            found[edge[1]] = found[edge[0]] + 1
            left.remove(edge)
    return found


def test_latencies_are_those_of_the_longest_way_through_a_pmu() -> None:
    # Three cycles a hop, borders are free: into a PMU and on to the farthest reader, walked along the routes.
    machine = load_machine("sn40l", {"crossing_cycles": "0 cycles", "hop_cycles": "3 cycles"})
    section = compile_metapipe(matmul(128, 64), machine, placement="full").sections[0].section
    for link, wire in section.wires.items():
        into: dict[int, int] = {}
        out: dict[int, int] = {}
        for way in of(section).routes.routes:
            if way.link == link:
                deep = depths(way)
                for target in way.targets:
                    ends, at = (out, way.source) if way.reader else (into, target)
                    ends[at] = max(ends.get(at, 0), deep[target])
        longest = max(into.get(cell, 0) + out.get(cell, 0) for cell in into.keys() | out.keys())
        assert (wire.hops, wire.latency_cycles) == (longest, 3 * longest)


def test_borders_between_tiles_add_to_latency() -> None:
    machine = load_machine("sn40l", {"hop_cycles": "0 cycles", "crossing_cycles": "50 cycles"})
    section = compile_metapipe(matmul(128, 64), machine, placement="full").sections[0].section
    assert all(wire.latency_cycles % 50 == 0 for wire in section.wires.values())


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs_are_placed_and_never_faster_for_it(seed: int) -> None:
    machine = load_machine(("sn40l", "sn10", "sn30")[seed % 3])
    for one in compile_graph(random_graph(Random(seed)), machine, Choices("looped")).sections:
        section = place_and_route(one.section, seed)
        free = simulate(emit(replace(section, wires={})), spans=False).total_cycles
        for with_ways in (section, one.section):
            assert simulate(emit(with_ways), spans=False).total_cycles >= free
        used = [cell for cells in of(section).placement.pmus.values() for cell in cells]
        assert len(set(used)) == len(used) == section.pmus
