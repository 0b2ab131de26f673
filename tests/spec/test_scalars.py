"""YAML 1.2 core: what an unquoted word means."""

from __future__ import annotations

from math import inf, isnan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patterns.documents.scalars import LONGEST_NUMBER, plain_scalar


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e5", 1e5),
        ("3.35e12", 3.35e12),
        ("5e-6", 5e-6),
        ("1e0", 1.0),
        ("+12", 12),
        ("-7", -7),
        ("010", 10),
        ("08", 8),
        ("0777", 777),
        ("0o17", 15),
        ("0x1F", 31),
        (".5", 0.5),
        ("1.", 1.0),
        ("true", True),
        ("FALSE", False),
        ("null", None),
        ("~", None),
        ("", None),
        (".inf", inf),
        ("-.INF", -inf),
    ],
)
def test_numbers_and_the_few_words(text: str, value: object) -> None:
    found = plain_scalar(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text",
    ["no", "No", "on", "off", "yes", "y", "n", "2:4", "1:2:3", "12:30", "2024-01-01", "1_000", "0b101", "0o8", "0x"],
)
def test_what_other_readers_guess_at_is_text(text: str) -> None:
    assert plain_scalar(text) == text


@pytest.mark.parametrize(
    "text", ["1e", "1e5.0", "e5", ".", "-", "+", "tRue", "nan", "inf", "+.nan", "٣", "1٣", "nulls", "TRUEST"]
)
def test_everything_else_is_text(text: str) -> None:
    assert plain_scalar(text) == text


def test_not_a_number() -> None:
    found = plain_scalar(".NaN")
    assert isinstance(found, float)
    assert isnan(found)


def test_numbers_that_cannot_be_held() -> None:
    with pytest.raises(ValueError, match="too large to hold"):
        plain_scalar("1e999")
    with pytest.raises(ValueError, match=f"of {LONGEST_NUMBER + 1} characters"):
        plain_scalar("1" * (LONGEST_NUMBER + 1))


@settings(deadline=None)
@given(st.integers())
def test_integers_come_back(number: int) -> None:
    assert plain_scalar(str(number)) == number


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_come_back(number: float) -> None:
    assert plain_scalar(repr(number)) == number
