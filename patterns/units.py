"""Quantities with units, and the only conversions between cycles, seconds and bytes.

What a field measures follows from the last words of its name: `hbm_bytes_per_s`, `clock_hz`, `launch_ps`. In a file
its value is text with a unit (`3.35 TB/s`); inside it is a plain number in the base unit that the name says.
k, M, G, T and P are powers of 1000; Ki, Mi, Gi, Ti powers of 1024. Nothing is guessed: `KB` is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from functools import cache
from math import ceil

from patterns.errors import UserError

Number = int | float | Fraction

PS_PER_S = 10**12

_LARGE = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
_DIVISORS = {"": 1, "m": 10**3, "u": 10**6, "µ": 10**6, "n": 10**9, "p": 10**12, "f": 10**15}
_SMALL = {prefix: Fraction(1, divisor) for prefix, divisor in _DIVISORS.items()}
_PLAIN = {"": 1}

# Word in a field's name: (how files spell the unit, its prefixes, base units in one of what the name says).
_MEASURES: Mapping[str, tuple[tuple[str, ...], Mapping[str, int | Fraction], int]] = {
    "hz": (("Hz",), _LARGE, 1),
    "bytes": (("B",), {**_LARGE, **_BINARY}, 1),
    "flops": (("FLOP",), _LARGE, 1),
    "ops": (("op", "ops"), _LARGE, 1),
    "s": (("s",), _SMALL, 1),
    "ps": (("s",), _SMALL, PS_PER_S),
    "cycles": (("cycle", "cycles"), _PLAIN, 1),
    "joules": (("J",), {**_LARGE, **_SMALL}, 1),
    "watts": (("W",), {**_LARGE, **_SMALL}, 1),
}
_PER = {"s": ("s",), "cycle": ("cycle",), "byte": ("B", "byte"), "flop": ("FLOP", "flop")}
_RATE_WORDS = ("s", "cycle")
_EXAMPLES = {
    "hz": "1.83 GHz",
    "bytes": "228 KiB",
    "bytes_per_s": "3.35 TB/s",
    "bytes_per_cycle": "64 B/cycle",
    "flops_per_s": "989.4 TFLOP/s",
    "flops_per_cycle": "4096 FLOP/cycle",
    "ops_per_cycle": "128 ops/cycle",
    "s": "2.1 us",
    "ps": "2.1 us",
    "cycles": "700 cycles",
    "joules": "10.7 pJ",
    "watts": "700 W",
}
_QUANTITY = re.compile(r"([-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?)\s*([^\s0-9.].*)?", re.ASCII)
_LONGEST_TEXT = 100
_LARGEST = Fraction(10) ** 60


@dataclass(frozen=True)
class Dimension:
    """What a field measures: `factors` has each accepted unit and its size in the unit that the name says.

    name: '' for a plain number. positive: a rate or a clock, which zero would make infinite work.
    """

    name: str
    factors: tuple[tuple[str, Fraction], ...] = ()
    example: str = ""
    positive: bool = False


@cache
def dimension_of(field_name: str) -> Dimension:
    """What a field measures, from the last words of its name; a plain number if they name no unit."""
    words = field_name.split("_")
    if len(words) >= 3 and words[-2] == "per":
        return _dimension_per(words[-3], words[-1])
    if words[-1] not in _MEASURES:
        return Dimension("")
    return _dimension(words[-1], words[-1], ("",), positive=words[-1] == "hz")


def _dimension_per(measured: str, per: str) -> Dimension:
    rate = per in _RATE_WORDS
    if measured not in _MEASURES and not rate:
        return Dimension("")
    spelled = tuple(f"/{word}" for word in _PER.get(per, (per,)))
    # The name of `smem_bytes_per_sm` says per what; only of a rate must the value say it too.
    return _dimension(f"{measured}_per_{per}", measured, spelled if rate else ("", *spelled), positive=rate)


def _dimension(name: str, measured: str, endings: tuple[str, ...], *, positive: bool) -> Dimension:
    counted = ((measured.removesuffix("s"), measured), _PLAIN, 1)
    words, prefixes, base = _MEASURES.get(measured, counted)
    factors = tuple(
        (f"{prefix}{word}{ending}", Fraction(scale) * base)
        for ending in endings
        for word in words
        for prefix, scale in prefixes.items()
    )
    example = _EXAMPLES.get(name) or _EXAMPLES.get(measured) or f"4 {factors[0][0]}"
    return Dimension(name, factors, example, positive)


def parse_quantity(text: str, dimension: Dimension) -> int | float:
    """The number that `text` gives, in the unit that the field's name says; an int where it is whole.

    Raises UserError, which says what would be right.
    """
    written = _QUANTITY.fullmatch(text.strip()) if len(text) <= _LONGEST_TEXT else None
    if written is None:
        raise UserError(f"{_shortened(text)!r} is not {_what(dimension)}")
    number, unit = Fraction(written[1]), (written[2] or "").strip()
    factor = dict(dimension.factors).get(unit) if dimension.name else Fraction(1)
    if (not dimension.name and unit) or (factor is None and not unit):
        raise UserError(missing_unit(text, dimension) if dimension.name else f"{text!r} is not {_what(dimension)}")
    if factor is None:
        raise UserError(f"unknown unit {_shortened(unit)!r}{_better(unit, dimension)}; {_accepted(dimension)}")
    value = number * factor
    if value and not 1 / _LARGEST < abs(value) < _LARGEST:
        raise UserError(f"{text!r} is beyond every machine")
    return int(value) if value.denominator == 1 else float(value)


def missing_unit(written: str, dimension: Dimension) -> str:
    """The message for a bare number where a unit is due."""
    return f"a unit is due, found the bare number {_shortened(written)}; write it as in {dimension.example!r}"


def _what(dimension: Dimension) -> str:
    return f"a number with a unit, as in {dimension.example!r}" if dimension.name else "a number"


def _accepted(dimension: Dimension) -> str:
    units = [unit for unit, _ in dimension.factors]
    shortest = min(unit.count("/") for unit in units)
    return f"accepted: {', '.join(unit for unit in units if unit.count('/') == shortest)}"


def _better(unit: str, dimension: Dimension) -> str:
    known = [name for name, _ in dimension.factors]
    if unit[:1] == "K" and f"k{unit[1:]}" in known and f"Ki{unit[1:]}" in known:
        return f" (write 'k{unit[1:]}' for 1000 or 'Ki{unit[1:]}' for 1024)"
    close = get_close_matches(unit[:_LONGEST_TEXT], known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


def exact(value: Number) -> Fraction:
    """The decimal number that was written: 2.1e-6 is 21/10**7, not the binary number next to it.

    Raises ValueError for NaN and infinities.
    """
    return Fraction(repr(float(value))) if isinstance(value, float) else Fraction(value)


def _rate(value: Number, what: str) -> Fraction:
    rate = exact(value)
    if rate <= 0:
        raise ValueError(f"{what} must be greater than 0, is {value}")
    return rate


def ticks(cycles: int, clock_hz: Number) -> int:
    """Picoseconds that `cycles` of a clock take, rounded up. Raises ValueError for a clock that is not > 0."""
    return ceil(cycles * PS_PER_S / _rate(clock_hz, "clock_hz"))


def cycles_for(amount: Number, per_cycle: Number) -> int:
    """Cycles that `amount` takes at `per_cycle`, rounded up. Raises ValueError for a rate that is not > 0."""
    return ceil(exact(amount) / _rate(per_cycle, "per_cycle"))


def ps_for(amount: Number, per_s: Number) -> int:
    """Picoseconds that `amount` takes at `per_s`, rounded up. Raises ValueError for a rate that is not > 0."""
    return ceil(exact(amount) * PS_PER_S / _rate(per_s, "per_s"))


def per_cycle(per_s: Number, clock_hz: Number) -> Fraction:
    """What a rate per second gives in one cycle, exactly. Raises ValueError for rates that are not > 0."""
    return _rate(per_s, "per_s") / _rate(clock_hz, "clock_hz")


def per_second(rate_per_cycle: Number, clock_hz: Number) -> Fraction:
    """What a rate per cycle gives in one second, exactly. Raises ValueError for rates that are not > 0."""
    return _rate(rate_per_cycle, "rate_per_cycle") * _rate(clock_hz, "clock_hz")


def cycles_of_ps(time_ps: int, clock_hz: Number) -> int:
    """Cycles of a clock that cover a time in picoseconds, rounded up. Raises ValueError for a clock not > 0."""
    return ceil(time_ps * _rate(clock_hz, "clock_hz") / PS_PER_S)


def ps_of(time_s: Number) -> int:
    """Picoseconds of a time in seconds, rounded up."""
    return ceil(exact(time_s) * PS_PER_S)


def seconds(time_ps: int) -> float:
    """Seconds of a time in picoseconds."""
    return time_ps / PS_PER_S
