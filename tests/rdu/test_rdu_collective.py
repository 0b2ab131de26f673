"""All-reduces over sockets: bytes, time and latency of each way by hand, and a pipeline of tiles cycle by cycle."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patterns.pipeline.simulate import simulate
from rdu_model import load_machine, lower_metapipe
from rdu_model.collective import all_reduce, legs_of, nodes_of, reduce_scatter
from rdu_model.lowering import rates
from rdu_model.machine import Machine
from rdu_model.metapipe import Metapipeline

UNIT = load_machine("unit")
# 450 GB/s in a direction and 1 us to a neighbour, as in a published question about rings of GPUs.
PAYLOAD = 16 * 2**20
FAST = {"link_bytes_per_s": "450 GB/s", "link_latency_ps": "1 us"}


def time_us(members: int, machine: Machine) -> float:
    done = all_reduce(PAYLOAD, members, machine)
    return (done.cycles + done.latency_cycles) / machine.clock_hz * 1e6


def test_a_ring_is_bytes_over_bandwidth_and_a_trip_each_step() -> None:
    ring = load_machine("unit", {**FAST, "all_reduce": "ring"})
    # 2 (p - 1) / p of 16 MiB at 450 GB/s, and 2 (p - 1) us; 37.283 us would be the payload over the bandwidth.
    assert time_us(8, ring) == pytest.approx(65.245 + 14, abs=0.002)
    assert time_us(6, ring) == pytest.approx(62.138 + 10, abs=0.002)
    assert time_us(1, ring) == 0


def test_direct_exchanges_send_as_much_in_two_trips() -> None:
    direct = load_machine("unit", FAST)
    assert time_us(8, direct) == pytest.approx(65.245 + 2, abs=0.002)
    assert time_us(2, direct) == pytest.approx(37.283 + 2, abs=0.002)


def test_a_ring_over_nodes_is_as_slow_as_its_slowest_link() -> None:
    nodes = {**FAST, "node_sockets": "4", "node_link_bytes_per_s": "50 GB/s", "node_link_latency_ps": "0 s"}
    ring = load_machine("unit", {**nodes, "all_reduce": "ring"})
    # 2 x 7/8 of 16 MiB over 50 GB/s, not the 65.2 us of the links inside a node.
    assert time_us(8, ring) == pytest.approx(587.2, abs=0.05)
    # Direct: 2 x 3/4 inside each node, a quarter between the two; one tile goes through both.
    inside, between = 1.5 * PAYLOAD / 450e3, PAYLOAD / 4 / 50e3
    assert time_us(8, load_machine("unit", nodes)) == pytest.approx(inside + between + 2, abs=0.01)


def test_sixteen_sockets_of_sn40l_are_two_nodes() -> None:
    machine = load_machine("sn40l")
    assert nodes_of(8, machine) == (1, 8)
    assert nodes_of(16, machine) == (2, 8)
    assert nodes_of(12, machine) == (2, 6)
    assert [(leg.share, leg.trips, leg.between_nodes) for leg in legs_of(16, machine)] == [
        (Fraction(7, 8), 1, False),
        (Fraction(1, 8), 1, True),
        (Fraction(7, 8), 1, False),
    ]
    # A decode step's 8 KiB is all latency: a trip of 1 us in each phase.
    small = [all_reduce(8192, members, machine) for members in (8, 16)]
    us = [(done.cycles + done.latency_cycles) / machine.clock_hz * 1e6 for done in small]
    assert us == pytest.approx([2.036, 3.049], abs=0.002)
    # Members on two nodes have both kinds of links.
    assert dict(rates(machine, 16).peak)["network_bytes"] == 480e9
    assert dict(rates(machine, 8).peak)["network_bytes"] == 400e9


@given(st.integers(1, 64), st.integers(0, 2**24), st.integers(1, 64), st.sampled_from(["direct", "ring"]))
def test_whatever_the_way_each_member_sends_the_same_bytes(
    members: int, payload: int, node_sockets: int, way: str
) -> None:
    machine = load_machine("unit", {"node_sockets": str(node_sockets), "all_reduce": way})
    done = all_reduce(payload, members, machine)
    assert done.sent_bytes == -(-2 * (members - 1) * payload // members)
    # Links of both kinds move a byte in a cycle: no way is faster than the bytes on the busier kind.
    assert done.cycles + done.latency_cycles >= done.sent_bytes
    assert sum(leg.share for leg in legs_of(members, machine)) == Fraction(2 * (members - 1), members)


@given(st.integers(1, 64), st.integers(0, 2**24), st.integers(1, 64), st.sampled_from(["direct", "ring"]))
def test_a_reduce_scatter_is_half_of_an_all_reduce(members: int, payload: int, node_sockets: int, way: str) -> None:
    machine = load_machine("unit", {"node_sockets": str(node_sockets), "all_reduce": way})
    whole, half = all_reduce(payload, members, machine), reduce_scatter(payload, members, machine)
    assert half.sent_bytes == -(-(members - 1) * payload // members)
    assert 2 * half.sent_bytes - 1 <= whole.sent_bytes <= 2 * half.sent_bytes
    assert abs(2 * half.cycles - whole.cycles) <= 2


def test_a_published_reduce_scatter() -> None:
    machine, payload = load_machine("sn50"), 16 * 24576 * 8192 * 2
    ms = [reduce_scatter(payload, sockets, machine).cycles / machine.clock_hz * 1e3 for sockets in (8, 16)]
    # 8.6 and 9.7 ms are published for full links: 7/8 over seven ports, and a sixteenth between two nodes besides.
    assert ms == pytest.approx([8.6, 9.7], rel=0.2)
    assert machine.peak_flops_per_s == pytest.approx(1.6e15, rel=0.005)
    assert machine.pmus * machine.pmu_bytes == pytest.approx(432e6, rel=0.005)


def summed(tiles: int, machine: Machine, depth: int | None = None) -> int:
    """Cycles of a pipe that loads tiles of 16 bf16, sums them over 4 sockets, and stores them."""
    p = Metapipeline("sum")
    x, y = p.input_region("x", "t", (16 * tiles,)), p.output_region("y", "t", (16 * tiles,))
    with p.metapipe(tiles):
        p.store_tile(y, p.all_reduce(p.load_tile(x, (16,)), members=4))
    call = lower_metapipe(p.build(), machine).calls[0]
    if depth is not None:
        assert next(c.slots for c in call.program.channels if c.name not in ("load x",)) == depth
    return simulate(call.program).total_cycles


def test_tiles_stream_over_the_links_by_hand() -> None:
    # A tile: 32 bytes in, 48 over the links (2 x 3/4), 32 out; memory carries 64 of each tile and is slower.
    assert summed(1, UNIT) == 32 + 48 + 32
    late = load_machine("unit", {"link_latency_ps": "100 ns"})
    assert summed(1, late) == 32 + 48 + 200 + 32
    fast_memory = {"hbm_bytes_per_s": "64 GB/s"}
    # With memory out of the way (a stream's own path still takes 32) a tile leaves every 48 cycles.
    unhurried = summed(100, load_machine("unit", fast_memory))
    assert unhurried == 32 + 100 * 48 + 1
    # The latency of two trips is paid once: five tiles more are under way.
    late_too = summed(100, load_machine("unit", {**fast_memory, "link_latency_ps": "100 ns"}), depth=2 + 5)
    assert late_too == unhurried + 200


def test_tiles_under_way_take_only_pmus_that_are_free() -> None:
    # Two PMUs hold the four tiles that must be there; a second of latency would want more than all of them.
    few = load_machine("unit", {"link_latency_ps": "1 ms", "pmus": "2", "hbm_bytes_per_s": "64 GB/s"})
    many = load_machine("unit", {"link_latency_ps": "1 ms", "hbm_bytes_per_s": "64 GB/s"})
    tiles, latency = 10_000, 2_000_000
    # With room for all a tile leaves every 48 cycles; else as many as there is room for in each latency.
    assert summed(tiles, many) == 32 + 48 * tiles + latency + 1
    room = 64 * 2**10 // 32
    assert summed(tiles, few) > latency * (tiles // room - 1)
