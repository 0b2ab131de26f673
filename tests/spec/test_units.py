"""Quantities and conversions: exact, and nothing is guessed."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patterns.errors import UserError
from patterns.units import (
    cycles_for,
    cycles_of_ps,
    dimension_of,
    exact,
    parse_quantity,
    per_cycle,
    per_second,
    ps_for,
    ps_of,
    seconds,
    ticks,
)


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ("hbm_bytes_per_s", "3.35 TB/s", 3_350_000_000_000),
        ("hbm_bytes_per_s", "1 GiB/s", 2**30),
        ("smem_bytes", "228 KiB", 233_472),
        ("smem_bytes_per_sm", "228 KiB", 233_472),
        ("smem_bytes_per_sm", "228 KiB/sm", 233_472),
        ("hbm_bytes", "80 GiB", 85_899_345_920),
        ("hbm_bytes", "80GB", 80_000_000_000),
        ("clock_hz", "1.83 GHz", 1_830_000_000),
        ("launch_s", "2.1 us", 2.1e-6),
        ("launch_ps", "2.1 us", 2_100_000),
        ("launch_ps", "2.1 µs", 2_100_000),
        ("load_bytes_per_cycle", "64 B/cycle", 64),
        ("matrix_flops_per_cycle", "4096 FLOP/cycle", 4096),
        ("special_ops_per_cycle", "16 ops/cycle", 16),
        ("special_ops_per_cycle", "1 op/cycle", 1),
        ("matrix_flops_per_s", "989.4 TFLOP/s", 989_400_000_000_000),
        ("matrix_joules_per_flop", "0.5 pJ", 5e-13),
        ("hbm_joules_per_byte", "10.7 pJ", 1.07e-11),
        ("hbm_joules_per_byte", "10.7 pJ/B", 1.07e-11),
        ("latency_cycles", "700 cycles", 700),
        ("latency_cycles", "1 cycle", 1),
        ("issue_cycles_per_kib", "3 cycles", 3),
        ("convert_elements_per_cycle", "128 elements/cycle", 128),
        ("board_watts", "700 W", 700),
        ("sm_count", "132", 132),
        ("achieved_efficiency", "0.85", 0.85),
        ("hbm_bytes_per_s", "1.6e+12 B/s", 1_600_000_000_000),
        ("hbm_bytes", "010 B", 10),
    ],
)
def test_a_quantity_is_read_in_the_unit_of_the_fields_name(field: str, text: str, value: float) -> None:
    found = parse_quantity(text, dimension_of(field))
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("field", "text", "message"),
    [
        ("hbm_bytes_per_s", "3.35", "a unit is due, found the bare number 3.35; write it as in '3.35 TB/s'"),
        ("hbm_bytes_per_s", "3.35 TB", r"unknown unit 'TB' \(did you mean 'TB/s'\?\)"),
        ("hbm_bytes_per_s", "3.35 Tb/s", r"unknown unit 'Tb/s' \(did you mean 'TB/s'\?\)"),
        ("smem_bytes", "48 KB", r"unknown unit 'KB' \(write 'kB' for 1000 or 'KiB' for 1024\)"),
        ("clock_hz", "1.83 ghz", "unknown unit 'ghz'"),
        ("launch_ps", "2.1 cycles", "unknown unit 'cycles'"),
        ("latency_cycles", "2 us", "unknown unit 'us'"),
        ("sm_count", "132 SMs", "'132 SMs' is not a number"),
        ("launch_ps", "fast", "'fast' is not a number with a unit, as in '2.1 us'"),
        ("launch_ps", "1_000 us", "unknown unit '_000 us'"),
        ("launch_ps", "nan us", "is not a number"),
        ("launch_ps", "inf us", "is not a number"),
        ("launch_ps", "1e999 us", "beyond every machine"),
        ("launch_ps", "1e-999 us", "beyond every machine"),
        ("launch_ps", "1e9999999999 us", "unknown unit"),
        ("launch_ps", "٣ us", "is not a number"),
        ("launch_ps", "9" * 200 + " us", "is not a number"),
    ],
)
def test_anything_else_is_refused_with_what_would_be_right(field: str, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_quantity(text, dimension_of(field))


def test_names_without_a_unit_are_plain_numbers() -> None:
    for name in ("sm_count", "warps_per_sm", "registers_per_thread", "tile", "efficiency", "pmus_per_tile"):
        assert dimension_of(name).name == ""


def test_a_rate_needs_its_denominator_and_a_size_does_not() -> None:
    with pytest.raises(UserError, match="unknown unit 'B'"):
        parse_quantity("64 B", dimension_of("load_bytes_per_cycle"))
    assert parse_quantity("64 B", dimension_of("smem_bytes_per_cta")) == 64


def test_a_gibibyte_at_3_35_terabytes_a_second_takes_320_microseconds() -> None:
    rate = parse_quantity("3.35 TB/s", dimension_of("hbm_bytes_per_s"))
    size = parse_quantity("1 GiB", dimension_of("copied_bytes"))
    assert ps_for(size, rate) == 320_519_948  # 2**30 / 3.35e12 s = 320.519947... us


@pytest.mark.parametrize("rate", [0, -1, 0.0, nan, inf, -inf])
def test_rates_that_no_machine_has_are_refused(rate: float) -> None:
    for convert in (ticks, cycles_for, ps_for, per_cycle, per_second, cycles_of_ps):
        with pytest.raises((ValueError, OverflowError)):
            convert(1, rate)


def test_a_float_counts_as_the_decimal_that_was_written() -> None:
    assert exact(2.1e-6) == Fraction(21, 10**7)
    assert ps_of(2.1e-6) == 2_100_000
    assert ps_of(2.1000001e-6) == 2_100_001
    assert cycles_for(3, 0.1) == 30
    assert per_cycle(3.35e12, 1.83e9) == Fraction(335000, 183)
    assert per_second(64, 1.83e9) == 117_120_000_000


positive = st.integers(1, 10**15)
rates = st.one_of(st.integers(1, 10**13), st.fractions(Fraction(1, 10**6), 10**6))


@settings(deadline=None)
@given(positive, rates)
def test_cycles_are_rounded_up_once(amount: int, rate: Fraction) -> None:
    cycles = cycles_for(amount, rate)
    assert (cycles - 1) * rate < amount <= cycles * rate


@settings(deadline=None)
@given(positive, st.integers(1, 10**13))
def test_ticks_are_rounded_up_once_and_come_back(cycles: int, clock_hz: int) -> None:
    time_ps = ticks(cycles, clock_hz)
    assert (time_ps - 1) * clock_hz < cycles * 10**12 <= time_ps * clock_hz
    back = cycles_of_ps(time_ps, clock_hz)
    assert (back - 1) * 10**12 < time_ps * clock_hz <= back * 10**12
    assert cycles <= back


@settings(deadline=None)
@given(positive, positive, st.integers(1, 10**13))
def test_more_cycles_take_more_time(first: int, more: int, clock_hz: int) -> None:
    assert ticks(first, clock_hz) <= ticks(first + more, clock_hz)


@settings(deadline=None)
@given(st.decimals(0, 10**6, places=4), st.sampled_from(["", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"]))
def test_prefixes_are_powers_of_1000_and_with_an_i_of_1024(number: object, prefix: str) -> None:
    factor = {"": 1, "k": 1000, "M": 1000**2, "G": 1000**3, "T": 1000**4}.get(prefix) or 1024 ** (
        "KMGT".index(prefix[0]) + 1
    )
    found = parse_quantity(f"{number:f} {prefix}B", dimension_of("some_bytes"))
    assert exact(found) == pytest.approx(Fraction(str(number)) * factor, rel=1e-15)
    if isinstance(found, int):
        assert found == Fraction(str(number)) * factor


def test_seconds_of_picoseconds() -> None:
    assert seconds(2_100_000) == 2.1e-6
