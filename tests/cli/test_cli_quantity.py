"""Numbers as people read them: few digits, and parts that add up as printed."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.text.quantity import bytes_text, percent_texts, ratio_text, scaled, share, time_text, time_texts


@pytest.mark.parametrize(
    ("time_ps", "text"),
    [
        (0, "0 ps"),
        (1, "1 ps"),
        (999, "999 ps"),
        (1_500, "1.500 ns"),
        (4_640_812_345, "4.641 ms"),
        (12_345_678_901, "12.35 ms"),
        (123_456_789_012, "123.5 ms"),
        (9_999_999_999, "10.00 ms"),
        (2 * 10**12, "2.000 s"),
        (5_000 * 10**12, "5,000 s"),
    ],
)
def test_a_time_has_four_digits_and_the_unit_that_suits(time_ps: int, text: str) -> None:
    assert time_text(time_ps) == text


@pytest.mark.parametrize(
    ("num_bytes", "text"),
    [(0, "-"), (512, "512 B"), (131_072, "131.1 kB"), (15_546_720_256, "15.55 GB"), (3 * 10**18, "3,000 PB")],
)
def test_bytes_are_decimal(num_bytes: int, text: str) -> None:
    assert bytes_text(num_bytes) == text


def test_amounts_below_one_keep_their_digits() -> None:
    assert scaled(0.0425, "FLOP/B") == "0.0425 FLOP/B"


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (2.12e-6, "2.1e-06x"),
        (0.0094, "0.0094x"),
        (0.0421, "0.042x"),
        (0.5, "0.50x"),
        (2.532, "2.53x"),
        (31.04, "31.0x"),
        (269.3, "269x"),
    ],
)
def test_a_ratio_has_about_three_digits(ratio: float, text: str) -> None:
    assert ratio_text(ratio) == text


@given(st.lists(st.integers(0, 10**15), min_size=1, max_size=15), st.integers(1, 10**6))
def test_shares_add_up_and_none_is_off_by_one_or_more(parts: list[int], total: int) -> None:
    shares = share(parts, total)
    whole = sum(parts)
    assert sum(shares) == (total if whole else 0)
    assert all(abs(part * total - given_ * whole) < whole for part, given_ in zip(parts, shares, strict=True) if whole)


@given(st.lists(st.integers(0, 10**16), min_size=1, max_size=15).filter(any))
def test_parts_add_up_as_printed(parts: list[int]) -> None:
    times, whole = time_texts(parts)
    assert round(sum(map(printed, times)), 6) == round(printed(whole), 6)
    assert len({text.split()[1] for text in [*times, whole]}) == 1
    assert round(sum(float(text.rstrip("%")) for text in percent_texts(parts)), 6) == 100.0


def printed(text: str) -> float:
    """The number that a printed time begins with."""
    found = re.match(r"[\d,.]+", text)
    assert found
    return float(found[0].replace(",", ""))
