"""Routes: dimension-order trees, what they put on the mesh, and what crowded edges leave the flows that share them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patterns.errors import DoesNotFit
from patterns.library import workload
from patterns.pipeline.simulate import simulate
from rdu_model import Choices, Metapipeline, compile_graph, compile_metapipe, load_machine
from rdu_model.emit import emit
from rdu_model.floor.fabric import Edge, fabric_of
from rdu_model.floor.layout import Shares
from rdu_model.floor.placement import Routes
from rdu_model.floor.rates import ALWAYS
from rdu_model.floor.route import check_routes, route, tree
from rdu_model.floor.traffic import Net
from rdu_model.floor.wires import Wire
from rdu_model.section import Section

FABRIC = fabric_of(load_machine("sn40l"))
CELLS = st.integers(0, len(FABRIC.kinds) - 1)
# One row of eight units, a link of 64 bytes a cycle between neighbours.
ROW = load_machine(
    "unit",
    {"pcus": "4", "pmus": "4", "tile_rows": "1", "tile_columns": "8", "agcus": "2", "mesh_links": "1"}
    | {"mesh_bytes_per_cycle": "64 B/cycle", "hop_cycles": "1 cycles"},
)


def net(source: int, *targets: int, rate: float = 1.0, phase: str = ALWAYS, link: str = "") -> Net:
    """A flow between units that stand on the cells of their own numbers."""
    return Net(link or f"{source} to {targets}", "r", source, targets, rate, phase)


def in_a_row(*nets: Net) -> Routes:
    """Routes on the row of eight."""
    return route(nets, range(8), fabric_of(ROW), ROW)


def reached(edges: Sequence[Edge], source: int) -> set[int]:
    """Cells that edges lead to from a source; each edge is taken up once what it starts from is reached."""
    found, left = {source}, list(edges)
    while left:
        now = [edge for edge in left if edge[0] in found]
        if not now:
            break
        found |= {to for _, to in now}
        left = [edge for edge in left if edge not in now]
    assert not left, "an edge hangs in the air"
    return found


@given(CELLS, st.lists(CELLS, min_size=1, max_size=12), st.booleans())
def test_a_tree_reaches_all_ends_and_no_edge_twice(source: int, targets: list[int], columns_first: bool) -> None:
    edges = tree(FABRIC, source, targets, columns_first)
    assert set(targets) <= reached(edges, source)
    assert len(set(edges)) == len(edges)
    assert len({to for _, to in edges}) == len(edges), "a cell is reached twice"
    assert all(FABRIC.hops(*edge) == 1 for edge in edges)


@given(CELLS, st.lists(CELLS, min_size=1, max_size=12), st.booleans())
def test_a_tree_is_never_longer_than_separate_ways(source: int, targets: list[int], columns_first: bool) -> None:
    edges = tree(FABRIC, source, targets, columns_first)
    assert max(FABRIC.hops(source, target) for target in targets) <= len(edges)
    assert len(edges) <= sum(FABRIC.hops(source, target) for target in set(targets))


@given(CELLS, CELLS, st.booleans())
def test_a_way_turns_once(source: int, target: int, columns_first: bool) -> None:
    edges = tree(FABRIC, source, [target], columns_first)
    assert len(edges) == FABRIC.hops(source, target)
    down = [abs(to - at) == FABRIC.columns for at, to in edges]
    assert down == sorted(down, reverse=columns_first)


def test_edges_of_a_small_tree_by_hand() -> None:
    # From row 1, column 1 to (1, 3), (0, 2) and (3, 2): along the row to column 3, in column 2 up one and down two.
    at = FABRIC.cell
    edges = tree(FABRIC, at(1, 1), [at(1, 3), at(0, 2), at(3, 2)])
    ways = [((1, 1), (1, 2)), ((1, 2), (1, 3)), ((1, 2), (0, 2)), ((1, 2), (2, 2)), ((2, 2), (3, 2))]
    assert set(edges) == {(at(*one), at(*other)) for one, other in ways}


@given(st.lists(st.tuples(CELLS, CELLS, st.floats(0.1, 50)), min_size=1, max_size=20))
def test_load_is_conserved(flows: list[tuple[int, int, float]]) -> None:
    nets = [net(source, target, rate=rate) for source, target, rate in flows]
    routes = route(nets, range(len(FABRIC.kinds)), FABRIC, load_machine("sn40l"))
    carried = sum(rate * FABRIC.hops(source, target) for source, target, rate in flows)
    assert sum(routes.load.values()) == pytest.approx(carried)


def test_flows_of_phases_that_follow_one_another_do_not_add_up() -> None:
    routes = in_a_row(net(0, 2, rate=10), net(1, 3, rate=20, phase="a"), net(1, 2, rate=25, phase="b"))
    assert routes.load[1, 2] == 10 + 25
    assert (routes.load[0, 1], routes.load[2, 3]) == (10, 20)


def test_two_heavy_streams_on_one_edge_get_their_fair_shares() -> None:
    # 40 + 60 bytes in a cycle over links of 64: both slow down to 64 %. The third has an edge for itself, and may take
    # all that its own edges leave: 64.
    routes = in_a_row(net(0, 3, rate=40), net(1, 3, rate=60), net(5, 4, rate=8))
    shares = Shares(routes, {ALWAYS: 1})
    assert routes.busiest == 100 / 64
    assert [shares.pace([found]) for found in routes.routes] == pytest.approx([25.6, 38.4, 64])


def test_a_flow_beside_another_may_take_what_is_left() -> None:
    # 10 and 20 of 64: the first could have 44, the second 54; two halves of one tile over one edge both count.
    routes = in_a_row(net(0, 3, rate=10), net(1, 3, rate=20))
    shares = Shares(routes, {ALWAYS: 1})
    assert [shares.pace([found]) for found in routes.routes] == pytest.approx([44, 54])
    halves = in_a_row(net(0, 3, rate=10, link="x"), net(1, 3, rate=10, link="x"))
    assert Shares(halves, {ALWAYS: 1}).pace(list(halves.routes)) == pytest.approx(64)


def test_a_crowded_edge_is_gone_around() -> None:
    # Both from the same cell to the next but one diagonally: along the row first both would take the same two edges.
    at = FABRIC.cell
    nets = [replace(net(at(0, 0), at(1, 1), rate=100), link=name) for name in ("x", "y")]
    routes = route(nets, range(len(FABRIC.kinds)), FABRIC, load_machine("sn40l"))
    assert routes.busiest < 1
    assert len(routes.load) == 4


def test_too_many_routes_on_an_edge_are_no_route() -> None:
    machine = replace(ROW, mesh_flows=2)
    fabric = fabric_of(machine)
    few = route([net(0, 2), net(1, 3)], range(8), fabric, machine)
    check_routes(few, fabric, machine)
    many = route([net(0, 2), net(1, 3), net(1, 4)], range(8), fabric, machine)
    with pytest.raises(DoesNotFit, match=r"no route from row 0, column 1 to row 0, column 2.*needs 3 routes.*is 2"):
        check_routes(many, fabric, machine)


def test_many_units_that_send_to_one_share_a_route() -> None:
    routes = in_a_row(net(0, 5, link="x"), net(1, 5, link="x"), net(2, 5, link="x"))
    assert max(routes.flows.values()) == 1
    assert routes.load[4, 5] == 3


def test_a_graph_with_no_route_is_refused() -> None:
    machine = load_machine("sn40l", {"mesh_flows": "3", "mesh_links": "1"})
    with pytest.raises(DoesNotFit, match=r"no route from row .* mesh_links or mesh_flows would help"):
        compile_graph(workload("gemm"), machine, Choices("fused", placement="full"))


def negated(**overrides: str) -> Section:
    """64 numbers of 2 bytes in, negated on 64 PCUs, and out, where a byte takes a cycle and ways cost nothing."""
    p = Metapipeline("negated")
    x, y = p.input_region("x", "t", (64,)), p.output_region("y", "t", (64,))
    p.store_tile(y, p.map("neg", p.load_tile(x, (64,)), pcus=64, name="neg"))
    return compile_metapipe(p.build(), load_machine("unit", overrides)).sections[0].section


def cycles(section: Section, **wires: Wire) -> int:
    """Of the call, with these ways."""
    return simulate(emit(replace(section, wires=wires))).total_cycles


def test_ways_add_their_latency_and_slow_down_what_they_hold_up() -> None:
    section = negated()
    link = next(buffer.link.name for buffer in section.buffers if buffer.link.source == "load x")
    free = cycles(section)
    # 128 bytes in, 128 out, and the stage between them as fast as the ports of its PMUs.
    stage = max(-(-128 // buffer.pmus) for buffer in section.buffers)
    assert free == 128 + stage + 128
    assert cycles(section, **{link: Wire(7)}) == free + 7
    assert cycles(section, **{link: Wire(7), "neg": Wire(5)}) == free + 12
    # The mesh lets 0.5 bytes in a cycle through to the stage: 256 cycles; into the PMUs: 256 for the stream.
    assert cycles(section, **{link: Wire(0, 0, 0.0, (0.5,))}) == 128 + 256 + 128
    assert cycles(section, **{link: Wire(0, 0, 0.5, (0.0,))}) in (128 + stage + 128, 256 + stage + 128)


def test_on_unit_ways_cost_nothing() -> None:
    section = negated()
    assert {wire.latency_cycles for wire in section.wires.values()} == {0}
    assert simulate(emit(section)).total_cycles == cycles(section)
