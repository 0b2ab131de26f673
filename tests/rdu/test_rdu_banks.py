"""Slots of a buffer in banks of their own, and what sharing one costs, by hand on unit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from patterns.run import run_plan
from rdu_model import Metapipeline, load_machine, lower_metapipe
from rdu_model.banks import pmus_apart
from rdu_model.metapipe import steps_of
from rdu_model.pipe import Metapipe
from rdu_model.section import Section
from rdu_model.sections import spread_out

SN40L = load_machine("sn40l")


def two_stages() -> Metapipe:
    """8 tiles of 16 elements of 4 bytes: exp, then exp again; 4 PCUs each make 16 elements in 4 cycles."""
    p = Metapipeline("two")
    x, y = p.input_region("x", "r", (128,), "fp32"), p.output_region("y", "r", (128,), "fp32")
    with p.metapipe(steps_of(128, 16)):
        first = p.buffer(p.map("exp", p.load_tile(x, (16,)), pcus=4, name="first"))
        p.store_tile(y, p.map("exp", first, pcus=4, name="second"))
    return p.build()


def section_on(**overrides: str) -> Section:
    found = spread_out(two_stages(), load_machine("unit", overrides), 1)
    assert isinstance(found, Section)
    return found


def cycles_on(**overrides: str) -> int:
    plan = lower_metapipe(two_stages(), load_machine("unit", overrides))
    (call,) = run_plan(plan).calls
    return call.timeline.total_cycles


def test_2_mib_take_4_pmus_and_twice_that_as_a_double_buffer() -> None:
    assert pmus_apart(1, 2**21, SN40L) == 4
    assert pmus_apart(2, 2**21, SN40L) == 8
    # 16 banks of 32 KiB: sixteen small tiles have one each, a seventeenth needs another PMU.
    assert (pmus_apart(16, 100, SN40L), pmus_apart(17, 100, SN40L)) == (1, 2)
    # A tile that does not fill its banks takes whole ones.
    assert pmus_apart(2, 2**18 + 1, SN40L) == 2


@given(st.integers(1, 64), st.integers(1, 2**22), st.sampled_from([1, 2, 4, 16]))
def test_slots_apart_hold_all_bytes(slots: int, slot_bytes: int, banks: int) -> None:
    machine = load_machine("sn40l", {"pmu_banks": str(banks)})
    pmus = pmus_apart(slots, slot_bytes, machine)
    assert slots * slot_bytes <= pmus * machine.pmu_bytes
    assert pmus * banks >= slots
    assert pmus_apart(slots + 1, slot_bytes, machine) >= pmus


def test_halves_have_banks_of_their_own_where_there_is_room() -> None:
    assert not any(buffer.turns for buffer in section_on().buffers)
    # One bank in a PMU: a PMU for each slot.
    apart = {buffer.link.name: buffer.pmus for buffer in section_on(pmu_banks="1").buffers}
    assert min(apart.values()) >= 2
    assert cycles_on(pmu_banks="1") == cycles_on()


def test_halves_that_share_a_bank_take_turns() -> None:
    tight = {"pmu_banks": "1", "pmus": "3"}
    assert [(b.link.name, b.slots, b.pmus, b.turns) for b in section_on(**tight).buffers] == [
        ("load x", 2, 1, True),
        ("first", 2, 1, True),
        ("second", 2, 1, True),
    ]
    # A tile of 64 bytes passes the port of a PMU in 64 cycles; with two banks the next is written meanwhile. With one
    # bank a tile is written and read in 128 cycles, in each of the three buffers at once. 8 tiles follow a tile that is
    # loaded and one that is in the first stage; HBM, at 1000 bytes a cycle, stores the last in a cycle.
    two_banks = {"pmu_banks": "2", "pmus": "3"}
    assert not any(buffer.turns for buffer in section_on(**two_banks).buffers)
    quick, slow = (cycles_on(**{**way, "hbm_bytes_per_s": "1000 GB/s"}) for way in (two_banks, tight))
    assert quick == (1 + 1 + 8) * 64 + 1
    assert slow == (1 + 1 + 8) * 128 + 1
