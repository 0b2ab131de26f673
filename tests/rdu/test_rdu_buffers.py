"""Buffers: how many PMUs, how deep, and how far streams read ahead."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patterns.library import workload
from rdu_model import Metapipeline, load_machine
from rdu_model.buffers import Shortage, pmus_for
from rdu_model.flow import take_apart
from rdu_model.metapipe import steps_of
from rdu_model.pipe import Metapipe
from rdu_model.section import Section
from rdu_model.sections import spread_out

SN40L = load_machine("sn40l")


def two_gemms(tile: int, pcus: int = 4) -> Metapipe:
    """Rows of `tile` through two matrices of 1024 x 1024, the published example of buffers between stages."""
    p = Metapipeline("two")
    x, y = p.input_region("x", "r a", (8192, 1024)), p.output_region("y", "r c", (8192, 1024))
    v, w = p.input_region("v", "a b", (1024, 1024)), p.input_region("w", "b c", (1024, 1024))
    v_tile, w_tile = p.load_tile(v, (1024, 1024)), p.load_tile(w, (1024, 1024))
    with p.metapipe(steps_of(8192, tile)):
        first = p.mat_mul(p.load_tile(x, (tile, 1024)), v_tile, pcus=4, name="first")
        p.store_tile(y, p.mat_mul(first, w_tile, pcus=pcus, name="second"))
    return p.build()


def section_of(metapipe: Metapipe, **overrides: str) -> Section:
    """A metapipe on sn40l."""
    found = spread_out(metapipe, load_machine("sn40l", overrides), 1)
    assert isinstance(found, Section)
    return found


def test_a_bf16_buffer_of_1024_by_1024_takes_exactly_4_pmus() -> None:
    assert pmus_for(1024 * 1024 * 2, 0, 0, SN40L) == 4
    held = {buffer.link.name: buffer for buffer in section_of(two_gemms(1024)).buffers}
    # The matrices stay for the whole run: one slot of 2 MiB. What goes from stage to stage has two slots.
    assert [(held[name].slots, held[name].slot_bytes, held[name].pmus) for name in ("load v", "load w")] == [
        (1, 2**21, 4),
        (1, 2**21, 4),
    ]
    assert (held["first"].slots, held["first"].pmus) == (2, 8)


def test_pmus_are_the_most_of_capacity_reads_and_writes() -> None:
    assert pmus_for(2**19, 64, 64, SN40L) == 1
    assert pmus_for(2**19 + 1, 64, 64, SN40L) == 2
    assert pmus_for(1, 65, 64, SN40L) == 2
    assert pmus_for(1, 64, Fraction(641, 5), SN40L) == 3  # 128.2 bytes a cycle
    assert pmus_for(0, 0, 0, SN40L) == 1


@given(st.integers(0, 10**9), st.integers(0, 10**5), st.integers(0, 10**5))
def test_pmus_hold_and_keep_up(slots_bytes: int, read: int, written: int) -> None:
    pmus = pmus_for(slots_bytes, read, written, SN40L)
    assert slots_bytes <= pmus * SN40L.pmu_bytes
    assert max(read, written) <= pmus * SN40L.pmu_bytes_per_cycle


def test_a_wider_stage_gets_more_pmus_to_read_from() -> None:
    # 64 x 128 blocks, in 64 x 128 / 512 = 16 passes on 512 PCUs: the rows in four parts, each of 256 rows at 4 bytes a
    # cycle, 1024 bytes in a cycle: 16 PMUs. 4 PCUs read no more than 4 x 64 bytes.
    def pmus(pcus: int) -> int:
        return next(b.pmus for b in section_of(two_gemms(1024, pcus)).buffers if b.link.name == "first")

    assert pmus(4) == 8  # two tiles of 2 MiB
    assert pmus(512) == 16


def test_a_stream_alone_has_the_whole_prefetch() -> None:
    def stream(prefetch: str) -> tuple[int, int]:
        graph = workload("gemm", overrides={"m": "1", "n": "65536", "k": "4096"})
        from rdu_model.sections import Piece, build

        block = graph.blocks[0]
        machine = load_machine("sn40l", {"prefetch_bytes": prefetch})
        section = build(Piece(graph, block, block.nodes, 1, 1), machine)
        assert isinstance(section, Section)
        found = max(section.buffers, key=lambda buffer: buffer.slots * buffer.slot_bytes)
        assert section.pmus <= machine.pmus
        return found.slots * found.slot_bytes, found.slot_bytes

    least, slot_bytes = stream("0 B")
    assert least == slot_bytes or least <= 2**18
    held, slot_bytes = stream("64 MiB")
    assert 2**26 - slot_bytes < held <= 2**26 + 2**18
    # Never more than there are free PMUs.
    most, _ = stream("100 GB")
    assert most <= 1040 * 2**19


def test_what_does_not_fit_says_which_part_is_greatest() -> None:
    lack = spread_out(two_gemms(8192), load_machine("sn40l", {"pmus": "30"}), 1)
    assert isinstance(lack, Shortage)
    assert (lack.resource, lack.available, lack.most) == ("PMUs", 30, 32)
    assert lack.needed > 30


def test_a_single_step_needs_a_single_slot() -> None:
    assert {link.depth for link in take_apart(two_gemms(8192)).links if link.tiles == 1} == {1}


@pytest.mark.parametrize("tile", [64, 256, 1024])
def test_slots_times_bytes_fit_their_pmus(tile: int) -> None:
    for buffer in section_of(two_gemms(tile)).buffers:
        assert buffer.slots * buffer.slot_bytes <= buffer.pmus * SN40L.pmu_bytes
