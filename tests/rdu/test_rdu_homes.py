"""Memory tiers of an RDU: where tensors lie, and what is spilled first."""

from __future__ import annotations

import pytest

from patterns.errors import DoesNotFit
from patterns.library import workload
from patterns.read import parse_graph
from rdu_model import Choices, Metapipeline, compile_graph, compile_metapipe, load_machine, lower, lower_metapipe
from rdu_model.compile_stage import Lines, show_stage
from rdu_model.memory import off_chip
from tests.rdu.memory_checks import (
    check_nothing_is_overwritten,
    homes_of,
    moved,
    report_of,
    unit_with,
)

CHAIN = """
name: chain
extents: {m: 4, k: 8, n: 16, p: 4, q: 32, r: 2}
tensors:
  x: {dims: [m, k], dtype: bf16, role: input}
  w: {dims: [k, n], dtype: bf16, role: weight}
  v: {dims: [n, p], dtype: bf16, role: weight}
  u: {dims: [p, q], dtype: bf16, role: weight}
  t: {dims: [q, r], dtype: bf16, role: weight}
  y: {dims: [m, r], dtype: bf16, role: output}
nodes:
  a: {kind: mm, reads: [x, w]}
  b: {kind: mm, reads: [a, v]}
  c: {kind: mm, reads: [b, u]}
  y: {kind: mm, reads: [c, t]}
"""
REPEATED = """
name: repeated
extents: {m: 4, n: 8}
tensors:
  x: {dims: [m, n], dtype: bf16, role: input}
  y: {dims: [m, n], dtype: bf16, role: output}
blocks:
  before:
    nodes:
      g: {kind: map, fn: exp, reads: [x]}
      h: {kind: map, fn: relu, reads: [x]}
  body:
    count: 3
    carried: {h: r}
    nodes:
      a: {kind: zip, fn: add, reads: [g, h]}
      r: {kind: map, fn: exp, reads: [a]}
      b: {kind: map, fn: exp, reads: [a]}
      c: {kind: map, fn: exp, reads: [b]}
      d: {kind: map, fn: exp, reads: [c]}
      e: {kind: map, fn: exp, reads: [d]}
  after:
    nodes:
      y: {kind: map, fn: exp, reads: [x]}
"""
TWO = """
name: two
extents: {m: 1, k: 64, n: 64}
tensors:
  x: {dims: [m, k], dtype: bf16, role: input}
  w: {dims: [k, n], dtype: bf16, role: weight}
  v: {dims: [k, n], dtype: bf16, role: weight}
nodes:
  a: {kind: mm, reads: [x, w]}
  b: {kind: mm, reads: [x, v]}
"""


# What lies where, by hand.


def test_what_moves_most_stays_in_hbm_and_lifetimes_share_addresses() -> None:
    """Bytes moved: c 256 + 256, u and w 256, a 128 + 128 (weights first), t and v 128, b 32 + 32, x 64, y 16."""
    graph = parse_graph(CHAIN, "chain.yaml")
    compiled = compile_graph(graph, unit_with(1024), Choices("unfused"))
    found = homes_of(compiled)
    # c lives from call 3 to 4 at address 0; a, from 1 to 2, shares its addresses. All but b live at any other time.
    assert found["c"] == found["a"] == ("hbm", 0)
    assert found["u"] == ("hbm", 256)
    assert found["w"] == ("hbm", 512)
    assert found["t"] == ("hbm", 768)
    assert found["v"] == ("hbm", 896)
    # HBM is full from then on: b, from 2 to 3, meets a and c. In DDR what has to be there at all comes first.
    assert found["x"] == ("ddr", 0)
    assert found["y"] == ("ddr", 64)
    assert found["b"] == ("ddr", 80)
    plan = lower(graph, unit_with(1024), mode="unfused")
    assert moved(plan) == {"hbm": 512 + 256 + 256 + 256 + 128 + 128, "ddr": 64 + 64 + 16}
    assert plan.spilled_bytes == 64 + 16
    hbm, ddr = plan.rooms
    assert (dict(hbm.held), hbm.taken_bytes) == ({"between calls": 256, "weights": 768}, 1024)
    assert (dict(ddr.held), ddr.taken_bytes) == ({"between calls": 32, "inputs": 64, "outputs": 16}, 112)


def test_a_layer_streams_from_both_memories_at_once() -> None:
    """Equal rates: of two weights of 256 bytes one is read from HBM while the other comes from DDR."""
    graph = parse_graph(TWO, "two.yaml")
    both, one = (lower(graph, unit_with(hbm), mode="fused") for hbm in (8192 + 1000, 2**20))
    assert moved(both)["ddr"] == 8192
    assert moved(one)["ddr"] == 0
    # Two memories are twice as fast as one: a bound with HBM's rate alone would be wrong.
    assert report_of(both).time_ps < 0.6 * report_of(one).time_ps
    assert report_of(both).bound_ps == report_of(both).bound_ps >= 8192 * 1000


def test_a_carried_pair_is_one_symbol_and_lives_as_long_as_its_block() -> None:
    graph = workload("llama-3.1-8b", context=64, overrides={"layers": 3})
    compiled = compile_graph(graph, load_machine("sn40l"), Choices("unfused"))
    symbols = {name: home.symbol for home in compiled.homes for name in home.symbol.names}
    numbers = [number for number, one in enumerate(compiled.sections) if one.block.count == 3]
    for inside, result in next(block for block in graph.blocks if block.count == 3).carried:
        assert symbols[inside] is symbols[result]
        assert symbols[inside].first <= numbers[0]
        assert symbols[inside].last >= numbers[-1]
    # The scores of a layer live from the call that makes them to the one that scales them.
    assert symbols["scores"].last - symbols["scores"].first == 1


def test_what_a_block_finds_in_every_execution_lives_until_its_last() -> None:
    graph = parse_graph(REPEATED, "repeated.yaml")
    compiled = compile_graph(graph, load_machine("unit"), Choices("unfused"))
    symbols = {name: home.symbol for home in compiled.homes for name in home.symbol.names}
    # Calls: g 0, h 1, then a r b c d e from 2 to 7, y 8.
    assert (symbols["g"].first, symbols["g"].last) == (0, 7)
    assert symbols["h"] is symbols["r"]
    assert (symbols["h"].first, symbols["h"].last) == (1, 7)
    assert (symbols["c"].first, symbols["c"].last) == (5, 6)
    assert symbols["e"].use == "outputs"
    check_nothing_is_overwritten(graph, compiled)


def test_llama_70b_on_one_socket_streams_two_of_its_weights_from_ddr() -> None:
    machine, graph = load_machine("sn40l"), workload("llama-3.1-70b")
    plan = lower(graph, machine)
    assert plan.warnings == ("HBM has no room for 75,161,927,680 bytes of each socket, which lie in DDR: w_gate, w_up",)
    report = report_of(plan)
    assert report.bound == "ddr_bytes"
    assert report.bound_s == pytest.approx(75_161_927_680 / machine.ddr_bytes_per_s)
    # DDR sets the time: 75.2 GB at 125 GB/s; HBM's 65 GB pass at the same time. A layer's fill is a few percent more.
    assert 1 <= report.time_s / (75_161_927_680 / 125e9) < 1.05
    hbm, ddr = plan.rooms
    assert dict(hbm.held)["weights"] + dict(ddr.held)["weights"] == 141_107_412_992
    assert hbm.taken_bytes <= machine.hbm_bytes
    assert ddr.taken_bytes == 75_161_927_680


def test_a_machine_without_hbm_spills_nothing() -> None:
    plan = lower(parse_graph(CHAIN, "chain.yaml"), load_machine("sn10"), mode="unfused")
    assert plan.warnings == ()
    assert plan.spilled_bytes == 0
    (room,) = plan.rooms
    assert (room.level, room.num_bytes) == ("ddr", load_machine("sn10").ddr_bytes)
    assert {row.level for row in plan.moved} == {"ddr"}


def test_a_program_says_which_tiles_come_from_ddr_and_go_there() -> None:
    compiled = compile_graph(parse_graph(CHAIN, "chain.yaml"), unit_with(1024), Choices("unfused"))
    lines = [line for one in show_stage("metapipe", compiled) if isinstance(one, Lines) for line in one.lines]
    streams = [line for line in lines if "LOAD_TILE(" in line or "STORE_TILE(" in line]
    assert len(streams) == 12
    spilled = {line.split("(")[1].split(",")[0] for line in streams if "from=DDR" in line or "to=DDR" in line}
    assert spilled == {"b", "x", "y"}


def test_a_cache_larger_than_hbm_is_spilled_and_weights_are_not() -> None:
    few = {"layers": "2", "model_vocabulary": "1024"}
    graph = workload("llama-3.1-8b", batch=16, context=16384, overrides=few)
    # Two layers' weights, 0.89 GB, have room; keys of 1.07 GB, and as many values, never do.
    plan = lower(graph, load_machine("sn40l", {"hbm_bytes": "1000 MiB"}))
    ddr = next(room for room in plan.rooms if room.level == "ddr")
    assert ddr.held == (("states", 2 * 2 * 16 * 16384 * 8 * 128 * 2),)
    assert report_of(plan).bound == "ddr_bytes"


def test_tiles_are_chosen_for_the_pace_of_ddr() -> None:
    """A prompt: what lies in DDR is read once, where tiles for HBM's pace would read it again for each of them."""
    graph = workload("llama-3.1-8b", phase="prefill", context=1024, overrides={"layers": 2})
    compiled = compile_graph(graph, load_machine("sn40l", {"hbm_bytes": "1 GiB"}), Choices("fused"))
    rows = off_chip(graph, compiled.sections)
    once, again = ([row for row in rows if ("again" in row.reason) is more] for more in (False, True))
    assert {row.level for row in once} == {"hbm", "ddr"}
    assert sum(row.num_bytes for row in again if row.level == "ddr") < 10**6


# A metapipe that is written.


def test_regions_of_a_metapipe_are_spilled_like_tensors() -> None:
    p = Metapipeline("twice")
    x = p.input_region("x", "n", (4096,), "fp32")
    y = p.output_region("y", "n", (4096,), "fp32")
    with p.metapipe(16):
        p.store_tile(y, p.map("relu", p.load_tile(x, (256,))))
    metapipe = p.build()
    assert homes_of(compile_metapipe(metapipe, unit_with(20_000))) == {"x": ("hbm", 0), "y": ("ddr", 0)}
    plan = lower_metapipe(metapipe, unit_with(20_000))
    assert moved(plan) == {"hbm": 16384, "ddr": 16384}
    with pytest.raises(DoesNotFit, match=r"needs 32,768 bytes of HBM and DDR per socket, there is 30,000"):
        lower_metapipe(metapipe, unit_with(20_000, 10_000))


# Messages.


def test_a_model_larger_than_both_memories_is_refused_with_the_sockets_that_would_do() -> None:
    machine = load_machine("sn40l", {"ddr_bytes": "100 GiB"})
    with pytest.raises(DoesNotFit) as caught:
        lower(workload("llama-3.1-405b"), machine)
    assert "bytes of HBM and DDR per socket, there is 176,093,659,136" in str(caught.value)
    assert "5 sockets would do by size" in str(caught.value)


def test_a_tensor_that_no_single_memory_holds_is_refused_by_name() -> None:
    with pytest.raises(DoesNotFit) as caught:
        lower(parse_graph(TWO, "two.yaml"), unit_with(8000, 12000), mode="fused")
    assert str(caught.value) == (
        "'w' (weights) on unit does not fit: needs 8,192 bytes of memory per socket, there is 7,616; it lies in one "
        "memory, and what moves more leaves 7,616 bytes of HBM and 3,808 bytes of DDR; more sockets would help"
    )
