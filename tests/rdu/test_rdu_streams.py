"""Streams of weights and states: how far they run ahead, and what that hides of a token's time."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patterns.graph import Graph
from patterns.library import workload
from patterns.run import run_plan
from rdu_model import Choices, compile_graph, load_machine, lower
from rdu_model.floor.wires import Wire
from rdu_model.homes import Memory
from rdu_model.lanes import is_narrow, own_pace
from rdu_model.machine import Pace
from rdu_model.pipe import Load
from rdu_model.section import Section
from rdu_model.tiles.ahead import DOUBT, Part, time_of, unhidden
from rdu_model.tiles.streams import Stream, allowed_bytes, least_bytes, slots_ahead

SN40L = load_machine("sn40l")
MIB = 2**20
streams_of = st.lists(st.builds(Stream, st.integers(1, 2**24), st.integers(1, 4096)), min_size=1, max_size=9)


@given(streams_of, st.integers(0, 2**28))
def test_streams_hold_what_they_may_or_a_single_tile(streams: list[Stream], prefetch: int) -> None:
    allowed = allowed_bytes(streams, prefetch, SN40L)
    assert sum(allowed) <= prefetch + len(streams) * SN40L.pmu_bytes // 2
    for stream, most, slots in zip(streams, allowed, slots_ahead(streams, prefetch, SN40L), strict=True):
        assert slots >= 1
        assert slots == 1 or slots * stream.slot_bytes <= most


@given(streams_of, st.integers(0, 2**28), st.integers(0, 2**28))
def test_more_prefetch_is_never_fewer_slots(streams: list[Stream], one: int, other: int) -> None:
    less, more = (slots_ahead(streams, prefetch, SN40L) for prefetch in sorted((one, other)))
    assert all(few <= many for few, many in zip(less, more, strict=True))


def test_slots_by_hand() -> None:
    # Half a PMU is 256 KiB: two tiles of 128 KiB, and 1 MiB are eight more. A tile of 1 MiB has no second one.
    tiles = [Stream(128 * 1024, 100), Stream(2**20, 100)]
    assert slots_ahead(tiles[:1], 0, SN40L) == (2,)
    assert slots_ahead(tiles[:1], 2**20, SN40L) == (10,)
    assert slots_ahead(tiles[1:], 2**20, SN40L) == (1,)
    assert slots_ahead(tiles[1:], 2 * 2**20, SN40L) == (2,)
    # By their bytes, one to eight.
    assert slots_ahead(tiles, 9 * 2**20, SN40L) == (10, 8)
    # Never further than the next execution of the block.
    assert slots_ahead([Stream(1024, 3)], 2**28, SN40L) == (6,)


def took(parts: list[Part], memory: Memory, repeated: bool) -> float:
    """Cycles of one execution in which nothing comes before it may."""
    return time_of(parts, unhidden(parts, 0, memory), memory, repeated)


def test_time_of_parts_by_hand() -> None:
    # A byte a cycle. The first part works for 100 cycles on what is there, the second needs 60 bytes and 10 cycles
    # after the last of them. With 40 of them there already, 20 are waited for; a tenth counts as if none were.
    memory = Memory("hbm", Pace(1, 1), 0)
    parts = [Part((), 100, 0, 0, 0, 0), Part((0,), 10, 10, 60, 0, 40)]
    assert took(parts, memory, False) == pytest.approx(130 * (1 - DOUBT) + 170 * DOUBT)
    # Repeated, it is the same: while the second part waits, memory brings nothing else.
    assert took(parts, memory, True) == pytest.approx(130 * (1 - DOUBT) + 170 * DOUBT)
    # All may be there, and the latency of what is not counts.
    all_there = [parts[0], Part((0,), 10, 10, 60, 0, 60)]
    assert took(all_there, memory, False) == pytest.approx(110 * (1 - DOUBT) + 170 * DOUBT)
    late = Memory("hbm", Pace(1, 1), 7)
    assert took(parts, late, False) == pytest.approx(137 * (1 - DOUBT) + 177 * DOUBT)
    # Memory's own time is a bound.
    assert took([Part((), 1, 1, 0, 500, 500)], memory, True) >= 500 * (1 - DOUBT)


@cache
def llama(size: str) -> Graph:
    """A token of Llama 3.1 at context 1536 for one of 8 sockets."""
    return workload(f"llama-3.1-{size}", context=1536, members=8)


def layer_us(size: str, prefetch: str) -> float:
    """Microseconds of a layer in the looped call."""
    machine = load_machine("sn40l", {"prefetch_bytes": prefetch})
    plan = lower(llama(size), machine, members=8)
    number = next(n for n, call in enumerate(plan.calls) if call.iterations > 1)
    call = plan.calls[number]
    return run_plan(plan, spans=False).calls[number].timeline.total_cycles / call.iterations / machine.clock_hz * 1e6


@pytest.mark.parametrize("size", ["8b", "70b"])
def test_the_fill_of_a_layer_follows_from_prefetch(size: str) -> None:
    times = [layer_us(size, f"{mib} MiB") for mib in (0, 4, 64, 256)]
    assert all(less >= 0.99 * more for less, more in pairwise(times)), times
    # 436 (1,711) MB of weights a layer, and its cache, on 8 sockets at 1.584 TB/s: what is left is not hidden.
    streamed = {"8b": 34.8, "70b": 135.6}[size]
    assert times[-1] < streamed * 1.04
    assert 5 < times[0] - streamed < 35
    # Between nothing and everything there is something in between.
    assert times[0] - streamed > 1.5 * (times[1] - streamed) / 1.2 > 1


@pytest.mark.parametrize("prefetch", ["0 B", "8 MiB", "64 MiB"])
@pytest.mark.parametrize("size", ["8b", "70b"])
def test_a_token_holds_no_more_weights_than_it_may(size: str, prefetch: str) -> None:
    machine = load_machine("sn40l", {"prefetch_bytes": prefetch})
    for compiled in compile_graph(llama(size), machine, Choices(), 8).sections:
        if compiled.block.count > 1:
            held = held_by_streams(compiled.section)
            assert len(held) > 8
            # Single tiles that are larger are the exception: all of them are a small part of a layer's weights.
            least = least_bytes(machine) * len(held)
            part = {"8b": 54e6, "70b": 214e6}[size] / 8
            assert sum(slots for slots, _ in held) <= machine.prefetch_bytes + least + part


def held_by_streams(section: Section) -> list[tuple[int, int]]:
    """Bytes of all slots of each stream of weights or states, and of one slot."""
    flow = section.flow
    held = []
    for buffer in section.buffers:
        leaf = flow.leaves[buffer.link.source].leaf
        if isinstance(leaf, Load):
            tensor = flow.metapipe.graph.tensor_named[leaf.tensor]
            role = flow.metapipe.graph.tensor_named[tensor.shares or tensor.name].role
            if role in ("weight", "state"):
                held.append((buffer.slots * buffer.slot_bytes, buffer.slot_bytes))
    return held


def test_each_weight_tile_is_streamed_once() -> None:
    graph = llama("8b")
    call = next(call for call in lower(graph, SN40L, members=8).calls if call.iterations > 1)
    own = (
        sum(
            2 * graph.elements(tensor.name)
            for tensor in graph.tensors
            if tensor.block == "decoder" and tensor.role != "intermediate"
        )
        * 32
    )
    assert own <= dict(call.work)["hbm_bytes"] <= 1.01 * own


def test_a_way_of_less_than_a_byte_a_cycle_holds_its_stream_up() -> None:
    (one,) = compile_graph(workload("softmax"), SN40L, Choices("fused")).sections
    (load,) = (found.leaf for found in one.section.flow.leaves.values() if isinstance(found.leaf, Load))
    for bytes_per_cycle, pace in ((0.25, Fraction(1, 4)), (3.5, Fraction(3))):
        section = replace(one.section, wires={load.name: Wire(bytes_per_cycle=bytes_per_cycle)})
        assert own_pace(section, load) == pace
        assert is_narrow(section, load)
